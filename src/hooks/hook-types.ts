/*
 * Types of hooks, version 1. The package ships this file as it is (`culvert-gateway/hooks`), so it imports nothing.
 */

/** Caller of a request, as hooks see it: never its key, never a credential. */
export interface HookCaller {
  account: string;
  plan: string;
  /** Id and name of its key. */
  keyId: string;
  keyName: string;
}

/** Facts that each hook of one request gets. */
export interface HookFacts {
  requestId: string;
  /** Name in the ledger: `chat`, `embeddings`, `speech`… */
  endpoint: string;
  /** The model that it names; null: none answers. */
  model: string | null;
  caller: HookCaller;
}

/** One text of a request or an answer. */
export interface HookText {
  /** `system`, `user`, `assistant`, `tool-arguments`, `tool-result`, `document`, `query`, `reasoning`… */
  kind: string;
  text: string;
}

export interface HookRequest extends HookFacts {
  /** In the order of the body, whatever its format. */
  texts: readonly HookText[];
  /** Pictures, sound and files, which hooks do not see. */
  unread: number;
  /** Headers that the configuration names, in lower case. */
  headers: Readonly<Record<string, string>>;
}

export interface RequestReply {
  /** The request is refused with 400 and this message. Nothing else counts then. */
  refuse?: string;
  /** Another model answers, which the caller must be allowed to use. */
  model?: string;
  /** Tag by which its use is summed. */
  tag?: string;
  /** Other texts, by their index in `texts`. */
  texts?: readonly { at: number; text: string }[];
  /** A system message before all others. Conversations alone have one. */
  system?: string;
  /** In place of the caller's. Conversations alone have them. */
  parameters?: { temperature?: number; top_p?: number; max_tokens?: number; reasoning_effort?: string };
}

export interface HookRoute extends HookFacts {
  /** Targets that may answer, as `provider/model`, in their order. */
  targets: readonly string[];
}

export interface RouteReply {
  refuse?: string;
  /** Some of the given targets, in the order in which they are asked. Those that are not named are not asked. */
  targets?: readonly string[];
}

/** One attempt at a target, once it has ended. */
export interface HookAttempt extends HookFacts {
  provider: string;
  /** The provider's name of the model. */
  target: string;
  /** `ok`, or why it failed: `transient`, `rate_limited`, `stall_first_token`… */
  outcome: string;
  /** HTTP status; null: none came. */
  status: number | null;
  ms: number;
}

export interface HookAnswer extends HookFacts {
  texts: readonly (HookText & { choice: number })[];
}

export interface AnswerReply {
  /** The answer is refused with this message; one that has begun ends as if a content filter had cut it. */
  refuse?: string;
  /** Other texts, by their index in `texts`. */
  texts?: readonly { at: number; text: string }[];
}

/** A request that has ended. */
export interface HookSettled extends Omit<HookFacts, 'caller'> {
  caller: Omit<HookCaller, 'keyName'>;
  /** `provider/model` that answered; null: none did. */
  target: string | null;
  status: number;
  /** `ok`, or the failure's class. */
  outcome: string;
  stream: boolean;
  ms: number;
  firstTokenMs: number | null;
  attempts: number;
  inputTokens: number;
  outputTokens: number;
  /** Null: its target has no price. */
  costUsd: number | null;
  user: string | null;
  tag: string | null;
}

export interface HookContext {
  /** `settings` of the hook in the configuration. */
  settings: Readonly<Record<string, unknown>>;
}

// biome-ignore lint/suspicious/noConfusingVoidType: a function without a return is one that replies with nothing.
type Answered<T> = T | null | undefined | void | Promise<T | null | undefined | void>;

/**
 * A module's hooks: its default export. Each has the hook's deadline. One that throws, hangs or replies with something
 * else is cut off, and the request goes by `on_error`.
 */
export interface Hooks {
  version: 1;
  /** Before anything is planned or held: it may change, move or refuse the request. */
  onRequest?(request: HookRequest, context: HookContext): Answered<RequestReply>;
  /** Before its first attempt: it may choose among the targets. */
  onRoute?(route: HookRoute, context: HookContext): Answered<RouteReply>;
  /** After each attempt; no request waits for it. */
  onAttempt?(attempt: HookAttempt, context: HookContext): void | Promise<void>;
  /** Over a whole answer. Streams are held to their end. A module has this or `onEvent`. */
  onAnswer?(answer: HookAnswer, context: HookContext): Answered<AnswerReply>;
  /** Over each part of an answer as it comes, cut where a sentence ends; a whole answer is one part. */
  onEvent?(part: HookAnswer, context: HookContext): Answered<AnswerReply>;
  /** After everything is charged and written; no request waits for it. */
  onSettled?(settled: HookSettled, context: HookContext): void | Promise<void>;
}
