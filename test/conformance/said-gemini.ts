import { isObject, type JsonObject } from '../../src/kernel/json.ts';
import { count, type Finish, finishOf, objectsOf, type Said, type SaidUsage, said, spelt, words } from './said.ts';

const finishes: Readonly<Record<string, Finish>> = {
  STOP: 'stop',
  MAX_TOKENS: 'length',
  SAFETY: 'filtered',
  RECITATION: 'filtered',
  MODEL_ARMOR: 'filtered',
  BLOCKLIST: 'filtered',
  PROHIBITED_CONTENT: 'filtered',
  SPII: 'filtered',
  IMAGE_SAFETY: 'filtered',
  IMAGE_PROHIBITED_CONTENT: 'filtered',
  IMAGE_RECITATION: 'filtered',
};

/** Contents of an answer of Gemini's format. */
export function saidByGemini(answer: JsonObject): Said {
  const candidates = objectsOf(answer.candidates);
  const candidate = candidates.find(({ index }) => index === 0 || index === undefined) ?? candidates[0] ?? {};
  const parts = isObject(candidate.content) ? objectsOf(candidate.content.parts) : [];
  const blocked = isObject(answer.promptFeedback) && typeof answer.promptFeedback.blockReason === 'string';
  const grounding = isObject(candidate.groundingMetadata) ? candidate.groundingMetadata : {};
  const cited = isObject(candidate.citationMetadata) ? candidate.citationMetadata : {};
  return said({
    text: parts.map(({ text, thought }) => (thought === true ? '' : words(text))).join(''),
    tools: parts.flatMap(({ functionCall: call }) =>
      isObject(call) ? [{ name: words(call.name), arguments: spelt(call.args ?? {}) }] : [],
    ),
    finish: blocked ? 'filtered' : finishOf(finishes, candidate.finishReason),
    usage: usageOf(answer),
    thoughts: parts.map(({ text, thought }) => (thought === true ? words(text) : '')).join(''),
    media: parts.filter(({ inlineData, thought }) => isObject(inlineData) && thought !== true).length,
    citations:
      objectsOf(grounding.groundingSupports).length + objectsOf(cited.citations ?? cited.citationSources).length,
  });
}

/** The chunks of a stream as the answer that they make. */
export function foldGemini(chunks: readonly JsonObject[]): JsonObject {
  const parts: JsonObject[] = [];
  const candidate: JsonObject = { content: { role: 'model', parts } };
  const answer: JsonObject = { candidates: [candidate] };
  for (const chunk of chunks) {
    for (const name of ['usageMetadata', 'promptFeedback'] as const) {
      if (chunk[name] !== undefined) answer[name] = chunk[name];
    }
    const one = objectsOf(chunk.candidates).find(({ index }) => index === 0 || index === undefined);
    if (one === undefined) continue;
    if (isObject(one.content)) parts.push(...objectsOf(one.content.parts));
    for (const name of ['finishReason', 'groundingMetadata', 'citationMetadata'] as const) {
      if (one[name] !== undefined) candidate[name] = one[name];
    }
  }
  return answer;
}

function usageOf({ usageMetadata: usage }: JsonObject): SaidUsage | null {
  if (!isObject(usage) || usage.promptTokenCount === undefined) return null;
  const input = count(usage.promptTokenCount) + count(usage.toolUsePromptTokenCount);
  const output = count(usage.candidatesTokenCount) + count(usage.thoughtsTokenCount);
  return { input, output: Math.max(output, count(usage.totalTokenCount) - input) };
}
