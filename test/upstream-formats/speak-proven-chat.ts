import { isObject, type JsonObject } from '../../src/kernel/json.ts';
import { chatSpeech } from '../../src/simulator/endpoints/speak-chat.ts';
import type { Speech } from '../../src/simulator/endpoints/speech.ts';

/*
 * Chat completions of gateways in front of several vendors, which prove thoughts in members of messages: OpenRouter by the
 * vendor of the model (https://openrouter.ai/docs/guides/best-practices/reasoning-tokens), and LiteLLM
 * (https://docs.litellm.ai/docs/reasoning_content).
 */

/** `gemini-late`: behind the calls. `blocks`: LiteLLM's. */
export type ProofForm = 'claude' | 'openai' | 'gemini' | 'gemini-late' | 'blocks';

interface Proof {
  /** Members of the delta with a piece of the thoughts, and of the one with the proof. */
  piece(thought: string): JsonObject;
  proof: JsonObject;
  /** Members of a whole message. */
  message: JsonObject;
}

const formats = { claude: 'anthropic-claude-v1', openai: 'openai-responses-v1', gemini: 'google-gemini-v1' } as const;

/** `id`: of the answer's first call, or of the answer. */
export function proofOf(form: ProofForm, thoughts: string, id: string): Proof {
  // Base64 with all of its characters.
  const data = Buffer.from(`\u{fb}\u{ef}\u{ff}\u{bf}?>~${id}`, 'latin1').toString('base64');
  if (form === 'blocks') {
    const block = (thinking: string, rest: JsonObject = {}) => ({ type: 'thinking', thinking, ...rest });
    const signed = { signature: data };
    return {
      piece: (thinking) => ({ reasoning_content: thinking, thinking_blocks: [block(thinking)] }),
      proof: { thinking_blocks: [block('', signed)] },
      message: { reasoning_content: thoughts, thinking_blocks: [block(thoughts, signed)] },
    };
  }
  const vendor = form === 'gemini-late' ? 'gemini' : form;
  const rest = { format: formats[vendor], index: 0 };
  const shown = (text: string): JsonObject =>
    vendor === 'openai'
      ? { type: 'reasoning.summary', summary: text, ...rest }
      : { type: 'reasoning.text', text, ...rest };
  const encrypted = { type: 'reasoning.encrypted', data, id: vendor === 'openai' ? `rs_${id}` : id, ...rest };
  const last = vendor === 'claude' ? { type: 'reasoning.text', ...rest, signature: data } : encrypted;
  const whole = [...(thoughts === '' ? [] : [shown(thoughts)]), encrypted];
  return {
    piece: (thought) => ({ reasoning: thought, reasoning_details: [shown(thought)] }),
    proof: { reasoning_details: [last] },
    message: {
      reasoning: thoughts,
      reasoning_details: vendor === 'claude' ? [{ ...shown(thoughts), signature: data }] : whole,
    },
  };
}

function provenSpeech(formOf: (model: string) => ProofForm): Speech {
  return {
    ...chatSpeech,
    read(body, pathModel) {
      const prompt = chatSpeech.read(body, pathModel);
      const isUnproven = 'model' in prompt && formOf(prompt.model).startsWith('gemini') && hasUnprovenCall(body);
      const refused = 'Gemini models require OpenRouter reasoning details to be preserved in each request.';
      return isUnproven ? { refused, param: null } : prompt;
    },
    whole(answer, prompt, spec) {
      const body = JSON.parse(chatSpeech.whole(answer, prompt, spec)) as { choices: { message: JsonObject }[] };
      const message = body.choices[0]!.message;
      const { reasoning_content: thoughts = '', ...rest } = message;
      const form = formOf(prompt.model);
      if (thoughts === '' && !form.startsWith('gemini')) return JSON.stringify(body);
      body.choices[0]!.message = { ...rest, ...proofOf(form, String(thoughts), idIn(message) ?? 'end').message };
      return JSON.stringify(body);
    },
    *frames(answer, prompt, spec) {
      const form = formOf(prompt.model);
      let thought = form.startsWith('gemini');
      let open = true;
      let call: string | null = null;
      for (const frame of chatSpeech.frames(answer, prompt, spec)) {
        const data = typeof frame === 'string' && frame.startsWith('data: {') ? JSON.parse(frame.slice(6)) : null;
        const choice = data?.choices?.[0];
        if (choice === undefined) {
          yield frame;
          continue;
        }
        const { reasoning_content: piece, ...delta } = choice.delta as JsonObject;
        const written = (members: JsonObject, finish = null) => {
          const choices = [{ ...choice, delta: members, finish_reason: finish }];
          return `data: ${JSON.stringify({ ...data, choices })}\n\n`;
        };
        call ??= idIn(delta);
        thought ||= typeof piece === 'string';
        const { proof } = proofOf(form, '', call ?? 'end');
        const isLast = choice.finish_reason !== null;
        const begins = isLast || call !== null || Boolean(delta.content);
        const isDue =
          thought && open && (form === 'gemini-late' ? isLast : form === 'gemini' ? isLast || call !== null : begins);
        if (isDue) open = false;
        // Beside the call, or alone.
        if (isDue && call !== null && form === 'gemini') yield written({ ...delta, ...proof });
        else {
          if (isDue) yield written(proof);
          yield written(typeof piece === 'string' ? proofOf(form, '', '').piece(piece) : delta, choice.finish_reason);
        }
      }
    },
  };
}

function idIn({ tool_calls: calls }: JsonObject): string | null {
  const [first] = Array.isArray(calls) ? calls : [];
  return isObject(first) && typeof first.id === 'string' ? first.id : null;
}

/** Whether the first of a turn's calls lacks its proof. */
function hasUnprovenCall({ messages }: JsonObject): boolean {
  return (messages as JsonObject[]).some((message) => {
    const id = idIn(message);
    const details = (message.reasoning_details ?? []) as JsonObject[];
    return id !== null && !details.some((detail) => detail.id === id && detail.type === 'reasoning.encrypted');
  });
}

export const openRouterSpeech = provenSpeech((model) =>
  model.includes('late')
    ? 'gemini-late'
    : model.includes('gemini')
      ? 'gemini'
      : model.includes('gpt')
        ? 'openai'
        : 'claude',
);
export const liteLlmSpeech = provenSpeech(() => 'blocks');

const signature = 'c2lnbmVkK/+/';

/** Google's endpoint of this format: it proves a thought on the call, and wants it back there. */
export const googleChatSpeech: Speech = {
  ...chatSpeech,
  read(body, pathModel) {
    const calls = (body.messages as JsonObject[]).flatMap(({ tool_calls: all }) => (Array.isArray(all) ? all : []));
    const isProven = calls.every((call) => JSON.stringify(call).includes(signature));
    const refused = 'Function call is missing a thought_signature in functionCall parts.';
    return isProven ? chatSpeech.read(body, pathModel) : { refused, param: null };
  },
  whole: (answer, prompt, spec) => signed(chatSpeech.whole(answer, prompt, spec)),
  *frames(answer, prompt, spec) {
    for (const frame of chatSpeech.frames(answer, prompt, spec))
      yield typeof frame === 'string' ? signed(frame) : frame;
  },
};

function signed(text: string): string {
  const member = `"extra_content":{"google":{"thought_signature":"${signature}"}}`;
  return text.replaceAll('"type":"function"', `"type":"function",${member}`);
}
