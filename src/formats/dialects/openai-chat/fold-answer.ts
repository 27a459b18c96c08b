import { isObject, type JsonObject, type JsonValue, objectIn, textIn } from '../../../kernel/json.ts';
import { type FinishReason, membersIn, type NeutralEvent } from '../../neutral/event.ts';
import { customInput } from '../arguments-text.ts';
import type { AnswerFold, AnswerHead } from '../dialect.ts';
import { membersOf } from './answer-proofs.ts';
import {
  annotationIn,
  answerMembers,
  type Counted,
  finishReasonOf,
  isCustom,
  isOfFunctions,
  mediaWord,
  noPrint,
  thoughtName,
  wirePicture,
  wireUsage,
} from './encode-answer.ts';
import { extraContentOf, google, ReasoningDetails } from './thoughts.ts';
import { openAiChatId } from './wire.ts';

/** A choice as far as it is known. */
interface FoldedChoice {
  text: string | null;
  reasoning: string;
  thoughts: ReasoningDetails;
  /** Members with thoughts and their proofs. */
  proven: JsonObject;
  refusal: string | null;
  calls: { id: string; name: string; argumentsJson: string; custom: boolean; extra: JsonObject }[];
  annotations: JsonObject[];
  pictures: JsonObject[];
  /** Google's proof over the text. */
  extra: JsonObject;
  audio: JsonObject | null;
  logprobs: { content: JsonValue[] | null; refusal: JsonValue[] | null } | null;
  reason: FinishReason | null;
  /** Findings of Azure's filter, in its form. */
  filters: JsonObject;
}

function emptyChoice(): FoldedChoice {
  return {
    text: null,
    reasoning: '',
    thoughts: new ReasoningDetails(),
    proven: {},
    refusal: null,
    calls: [],
    annotations: [],
    pictures: [],
    extra: {},
    audio: null,
    logprobs: null,
    reason: null,
    filters: {},
  };
}

/** Events as one whole `chat.completion`: what a client would put together from `encodeStream`'s chunks. */
export function fold(head: AnswerHead): AnswerFold {
  const choices = new Map<number, FoldedChoice>();
  let id = head.fallbackId;
  let model = head.model;
  let createdS = head.createdS;
  let usage: Counted = null;
  // OpenRouter's SDKs require the member. No provider of another format has one.
  let words = noPrint;
  const lost = new Set<string>();

  function choiceAt(index: number): FoldedChoice {
    let choice = choices.get(index);
    if (choice === undefined) {
      choice = emptyChoice();
      choices.set(index, choice);
    }
    return choice;
  }

  return {
    lost,
    add(event) {
      switch (event.type) {
        case 'start':
          id = event.id ?? id;
          model = event.model ?? model;
          createdS = event.createdS ?? createdS;
          words = { ...words, ...membersIn(event.beside, openAiChatId) };
          return;
        case 'usage':
          usage = event;
          return;
        case 'end':
        case 'failed':
          return;
        case 'vendor-part': {
          const members = answerMembers(event);
          if (members === null) addTo(choiceAt(event.choice), event, lost, head);
          else words = { ...words, ...members };
          return;
        }
        default:
          addTo(choiceAt(event.choice), event, lost, head);
      }
    },
    result() {
      if (choices.size === 0) choiceAt(0);
      return {
        id,
        object: 'chat.completion',
        created: createdS,
        model,
        choices: [...choices].sort(([a], [b]) => a - b).map(([index, choice]) => wireChoice(index, choice, head, lost)),
        usage: wireUsage(usage),
        ...pagesOf(choices.get(0)?.annotations, head),
        ...words,
        ...promptFilters(choices.get(0)?.filters),
      };
    },
  };
}

/** Addresses of the pages that are cited, where clients of Perplexity and the AI SDK's provider for it read them. */
function pagesOf(annotations: readonly JsonObject[] = [], { clientOf }: AnswerHead): JsonObject {
  if ((clientOf !== 'perplexity' && clientOf !== 'ai-sdk') || annotations.length === 0) return {};
  return { citations: [...new Set(annotations.flatMap((one) => textIn(objectIn(one.url_citation).url) ?? []))] };
}

type ContentEvent = Exclude<NeutralEvent, { type: 'start' | 'usage' | 'end' | 'failed' }>;

function addTo(choice: FoldedChoice, event: ContentEvent, lost: Set<string>, head: AnswerHead): void {
  switch (event.type) {
    case 'text-delta':
      choice.text = (choice.text ?? '') + event.text;
      return;
    case 'reasoning-delta':
      choice.reasoning += event.text;
      choice.thoughts.read(event);
      return;
    case 'reasoning-signature':
    case 'redacted-reasoning':
    case 'part-end': {
      prove(choice, choice.thoughts.read(event));
      return;
    }
    case 'refusal-delta':
      choice.refusal = (choice.refusal ?? '') + event.text;
      return;
    case 'tool-call-start':
      choice.calls[event.call] = {
        id: event.id,
        name: event.name,
        argumentsJson: '',
        custom: isCustom(event, head),
        extra: extraContentOf(event),
      };
      if (event.vendor === openAiChatId) prove(choice, membersOf([event.signature]));
      return;
    case 'tool-call-delta': {
      const call = choice.calls[event.call];
      if (call !== undefined) call.argumentsJson += event.argumentsJson;
      return;
    }
    case 'audio-delta':
      choice.audio = joinedAudio(choice.audio, event.audio);
      return;
    case 'text-signature':
      if (event.vendor === google) choice.extra = extraContentOf(event);
      else lost.add('signature');
      return;
    case 'media':
      if (event.media.kind !== 'image') lost.add(mediaWord[event.media.kind]);
      else choice.pictures.push(wirePicture(event.media, choice.pictures.length));
      return;
    case 'citation':
    case 'vendor-part': {
      const annotation = annotationIn(event, choice.text?.length ?? 0);
      if (typeof annotation !== 'string') choice.annotations.push(annotation);
      else if (annotation !== '') lost.add(annotation);
      return;
    }
    case 'logprobs':
      if (!isObject(event.logprobs)) return;
      choice.logprobs = {
        content: joinedList(choice.logprobs?.content ?? null, event.logprobs.content),
        refusal: joinedList(choice.logprobs?.refusal ?? null, event.logprobs.refusal),
      };
      return;
    case 'finish':
      choice.reason ??= event.reason;
      choice.filters = { ...choice.filters, ...event.filters, ...membersIn(event.beside, openAiChatId) };
  }
}

function prove({ proven }: FoldedChoice, members: JsonObject | null): void {
  for (const name in members)
    proven[name] = joinedList((proven[name] as JsonValue[] | undefined) ?? null, members[name]);
}

/** Data and transcript come in pieces; other members replace earlier ones. */
function joinedAudio(before: JsonObject | null, piece: JsonObject): JsonObject {
  if (before === null) return { ...piece };
  const joined = { ...before, ...piece };
  for (const name of ['data', 'transcript']) {
    const [earlier, later] = [before[name], piece[name]];
    if (typeof earlier === 'string') joined[name] = typeof later === 'string' ? earlier + later : earlier;
  }
  return joined;
}

function joinedList(before: JsonValue[] | null, piece: JsonValue | undefined): JsonValue[] | null {
  if (!Array.isArray(piece)) return before;
  return before === null ? piece : before.concat(piece);
}

function wireChoice(index: number, choice: FoldedChoice, head: AnswerHead, lost: Set<string>): JsonObject {
  const calls = choice.calls.filter((call) => call !== undefined);
  const message: JsonObject = { role: 'assistant', content: choice.text, refusal: choice.refusal, ...choice.extra };
  // The contract promises a text; only tool calls, a refusal or audio may replace it.
  if (choice.text === null && calls.length === 0 && choice.refusal === null && choice.audio === null)
    message.content = '';
  if (choice.reasoning !== '') message[thoughtName(head)] = choice.reasoning;
  if (choice.reasoning !== '' && head.clientOf === 'ai-sdk') message.reasoning = choice.reasoning;
  Object.assign(message, choice.proven);
  const [first] = calls;
  if (first !== undefined && isOfFunctions(head)) {
    message.function_call = { name: first.name, arguments: first.argumentsJson || '{}' };
    if (calls.length > 1) lost.add('tool_calls');
  } else if (calls.length > 0) {
    message.tool_calls = calls.map(({ id, name, argumentsJson, custom, extra }) => ({
      id,
      ...(custom
        ? { type: 'custom', custom: { name, input: customInput(argumentsJson) } }
        : { type: 'function', function: { name, arguments: argumentsJson || '{}' } }),
      ...extra,
    }));
  }
  if (choice.annotations.length > 0) message.annotations = choice.annotations;
  if (choice.pictures.length > 0) message.images = choice.pictures;
  if (choice.audio !== null) message.audio = choice.audio;
  const reason = choice.reason ?? (calls.length > 0 ? 'tool-calls' : 'stop');
  const { prompt_filter_results: _, ...filters } = choice.filters;
  return { index, message, logprobs: choice.logprobs, finish_reason: finishReasonOf(reason, head), ...filters };
}

function promptFilters({ prompt_filter_results: ofPrompt }: JsonObject = {}): JsonObject {
  return ofPrompt === undefined ? {} : { prompt_filter_results: ofPrompt };
}
