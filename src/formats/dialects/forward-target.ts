import type { JsonObject, JsonValue } from '../../kernel/json.ts';
import type { Loss } from '../neutral/loss.ts';

/** A target that gets the caller's body in its own format, and what of it differs there. */
export interface ForwardTarget {
  /** Upstream model id. */
  model: string;
  maxOutputTokens: number | null;
  /** Top-level fields that replace the caller's: the operator's for this target, and the gateway's. */
  body: Readonly<Record<string, unknown>>;
  /** Ask a streamed answer for its usage. */
  streamUsage: 'ask' | 'leave';
  omit: readonly string[];
  /** Top-level fields that the target has elsewhere, such as in the path: left out, which is no loss. */
  without?: readonly string[] | undefined;
  rename: Readonly<Record<string, string>>;
  /** Words of `reasoning_effort` for callers who ask in words of `omit`; absent: the model takes none. */
  efforts?: readonly string[] | undefined;
  /** The messages of a chat as the target takes them; null: they can stay. Absent: it takes any. */
  history?: ((messages: readonly JsonValue[]) => JsonValue[] | null) | undefined;
  /** Members as the target takes them, such as schemas; absent: it takes any. */
  fits?: readonly FitMembers[] | undefined;
}

/** Top-level members of a body as a target takes them; null: they can stay. */
export interface FitMembers {
  (body: JsonObject): FittedMembers | null;
  /** It concerns bodies with this member alone; absent: all. */
  readonly of?: 'messages' | 'tools' | 'response_format';
}

export interface FittedMembers {
  members: JsonObject;
  /** Members that go. */
  without?: readonly string[];
  /** Betas of Anthropic's that the body has to name, where they are in the body. */
  betas?: readonly string[];
  losses: Loss[];
}
