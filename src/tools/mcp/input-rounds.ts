import { invalid, refuse } from '../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue, objectIn } from '../../kernel/json.ts';
import { type Signer, withoutSignature, withSignature } from '../../kernel/sign.ts';
import type { ToolFields } from '../tool-fields.ts';
import { McpFault, McpFaultError } from './mcp-fault.ts';
import { statelessMeta } from './stateless.ts';

/*
 * A server of revision 2026-07-28 asks back by a result: its caller repeats the call with the answers, and with the state
 * that the server gave.
 */

/** A caller's part in a call whose server may ask back. */
export interface CallerInput {
  /** Kinds of questions that the caller answers. */
  capabilities: JsonObject;
  /** Members that repeat a call with its answers; a first call has none. */
  answers: JsonObject;
}

/** Capabilities by which a client answers questions of servers. */
const questionKinds = ['elicitation', 'sampling', 'roots'];
const stateChars = { min: 0, max: 1024 * 1024 };

/** The fields of `POST /v1/mcp/call` that say the same as the parameters of a message in that revision. */
export function inputFieldsOf({ _meta, inputResponses, requestState }: JsonObject): JsonObject {
  const clientCapabilities = objectIn(_meta)[statelessMeta('clientCapabilities')];
  const given = { clientCapabilities, inputResponses, requestState };
  const present = isObject(clientCapabilities) ? Object.entries(given).filter(isPresent) : [];
  return Object.fromEntries(present);
}

function isPresent(entry: [string, JsonValue | undefined]): entry is [string, JsonValue] {
  return entry[1] !== undefined;
}

/** Undefined: the caller cannot be asked. */
export function callerInputOf(fields: ToolFields): CallerInput | undefined {
  const capabilities = objectField(fields, 'clientCapabilities');
  const inputResponses = objectField(fields, 'inputResponses');
  const requestState = fields.text('requestState', stateChars);
  if (capabilities === undefined) return undefined;
  const kinds = Object.entries(capabilities).filter(([name]) => questionKinds.includes(name));
  return {
    capabilities: Object.fromEntries(kinds),
    answers: { ...(inputResponses && { inputResponses }), ...(requestState !== null && { requestState }) },
  };
}

function objectField(fields: ToolFields, name: string): JsonObject | undefined {
  const value = fields.value(name);
  return value === undefined || isObject(value) ? value : fields.refuse(name, 'an object');
}

/**
 * The states of a server's questions, as one tenant knows them. All tenants are one client to the server, so a signature
 * keeps each from the calls of others.
 */
export function boundStates(signer: Signer, tenant: string, server: string) {
  const bind = (state: string) => JSON.stringify([tenant, server, state]);
  return {
    /** A result with the state for the caller. */
    given(result: object): object {
      const { requestState: state } = result as { requestState?: unknown };
      if (!isQuestion(result) || typeof state !== 'string') return result;
      return { ...result, requestState: withSignature(signer, state, bind) };
    },
    /** The caller's part with the server's state. A FailureError: this tenant has no such state. */
    taken(input: CallerInput | undefined): CallerInput | undefined {
      const text = input?.answers.requestState;
      if (input === undefined || typeof text !== 'string') return input;
      const requestState = withoutSignature(signer, text, bind);
      return requestState === null ? refuse(unknownState) : { ...input, answers: { ...input.answers, requestState } };
    },
  };
}

const unknownState = invalid(
  'requestState',
  "'requestState' belongs to no question that this key got from the server. Begin the call again.",
);

/** True for a result by which a server asks back. */
export function isQuestion(result: object): boolean {
  return (result as { resultType?: unknown }).resultType === 'input_required';
}

/** Passes questions on to a caller who answers some, and reads other results. */
export function resultOrQuestion<R extends object, T extends object>(
  result: R,
  input: CallerInput | undefined,
  read: (result: R) => T,
): T {
  if (!isQuestion(result)) return read(result);
  const question: object = result;
  if (input !== undefined) return question as T;
  throw new McpFaultError(new McpFault('refused', 'asks for an answer of its user, whom nobody can ask in this call'));
}
