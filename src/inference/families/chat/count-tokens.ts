import type { Principal } from '../../../books/auth/principal.ts';
import type { CallerDialectId, CountedRequest } from '../../../formats/dialects/dialect.ts';
import { asCountRequest } from '../../../formats/dialects/gemini/path-members.ts';
import { estimatedTokens } from '../../../formats/neutral/usage.ts';
import { bringsCredential } from '../../../formats/providers/callers-credential.ts';
import { encodeCountTokens } from '../../../formats/providers/encode.ts';
import { type Failure, isFailure } from '../../../kernel/failure.ts';
import { isObject } from '../../../kernel/json.ts';
import { offLoopBodyBytes } from '../../../kernel/limits.ts';
import { tooLargeForLoop } from '../../../kernel/parse-object.ts';
import { dialectFor } from '../../../routing/capability.ts';
import type { RouteCandidate } from '../../../routing/route.ts';
import type { Target } from '../../../routing/target.ts';
import { postJson } from '../../../upstream/transport/get-json.ts';
import { asCaller } from '../../models/connections.ts';
import type { Snapshot } from '../../models/snapshot.ts';
import type { RuledFacts } from '../../spine/ruled.ts';
import { readsRequests } from '../../spine/steps/before.ts';
import { bindTo } from './bind-request.ts';
import { type NamingCount, readForCount, uncheckedIn } from './count-request.ts';
import { candidatesOf, requestedAlias } from './endpoint.ts';
import { isUpload, withUploads } from './inline-uploads.ts';
import type { CountServices } from './services.ts';

/** One body whose tokens a caller wants to know. */
export interface CountCall {
  dialect: CallerDialectId;
  principal: Principal;
  body: Buffer;
  callerHeaders: Readonly<Record<string, string | string[] | undefined>>;
  /** The model and the caller by the rules for routes, or why they refuse; null: there are no rules. */
  ruled: ((facts: RuledFacts) => Promise<CountedAs | Failure>) | null;
}

interface CountedAs {
  model: string;
  principal: Principal;
}

export interface CountedTokens {
  kind: 'counted';
  inputTokens: number;
  /** The target that counted them itself; null when they were counted here, by another tokenizer than the model's. */
  by: Target | null;
}

/** Clients ask while people wait; an own count is there in some ms. */
const upstreamTimeoutMs = 5_000;

/**
 * The input tokens of a request that is not sent: by the upstream's own count when the target asked first has one,
 * else by ours. An upstream that does not answer costs nothing but the precision.
 */
export async function countTokens(services: CountServices, call: CountCall): Promise<CountedTokens | Failure> {
  const snapshot = services.snapshots.current;
  // A large body is read in the thread that counts; it is never sent on, so this knows all that is needed of it.
  if (call.body.length > offLoopBodyBytes) return countHere(services, snapshot, call, null);
  const read = readForCount(call.body, call.dialect);
  if (read === tooLargeForLoop) return countHere(services, snapshot, call, null);
  if (isFailure(read)) return read;
  const { find } = services.uploads;
  if (find !== null && read.named.some(isUpload)) {
    const { tenant, account } = call.principal;
    const held = services.uploads.room.hold(account);
    try {
      const whole = await withUploads(find, { tenant, held }, call.dialect, call.body, read.named);
      if (whole !== null && !Buffer.isBuffer(whole)) return whole;
      // Only once: an id may remain, at a place where content cannot be.
      const uploads = { ...services.uploads, find: null };
      if (whole !== null) return await countTokens({ ...services, uploads }, { ...call, body: whole });
    } finally {
      held.giveBack();
    }
  }
  const as = await countedAs(call, read.model, () => needsOf(read, call.body.length));
  if (isFailure(as)) return as;
  const first = await reachingTarget(services, snapshot, { ...call, ...as }, { ...read, model: as.model });
  if (isFailure(first)) return first;
  // Guards and hooks read and change what a provider gets, and a request that is only counted passes none.
  if (isReadHere(snapshot, call, as)) return countHere(services, snapshot, call, first);
  const counted = await countThere(services, snapshot, call, read, first);
  // The text here is not all that a model would read.
  const nativeOnly = read.extras?.nativeOnly ?? null;
  if (counted === null && nativeOnly !== null) return nativeOnly;
  return counted ?? countHere(services, snapshot, call, first);
}

function isReadHere(
  snapshot: Snapshot,
  { callerHeaders }: Pick<CountCall, 'callerHeaders'>,
  { model, principal }: CountedAs,
): boolean {
  if (snapshot.steps === null) return false;
  const alias = requestedAlias(snapshot, model, principal);
  return !isFailure(alias) && readsRequests(snapshot, { requestId: '', principal, callerHeaders }, alias);
}

async function countedAs(
  { ruled, principal }: CountCall,
  model: string,
  needs: () => NonNullable<RuledFacts['needs']>,
): Promise<CountedAs | Failure> {
  return ruled === null ? { model, principal } : ruled({ model, needs: needs() });
}

/** Facts for rules of a body that is only counted. */
function needsOf(read: CountedRequest, bytes: number): NonNullable<RuledFacts['needs']> {
  if (uncheckedIn(read) !== null) return { inputTokensEstimate: estimatedTokens(bytes) };
  const { messages, tools } = read.neutral();
  const has = (type: 'image' | 'audio') => messages.some(({ parts }) => parts.some((part) => part.type === type));
  return {
    tools: (tools ?? []).length > 0,
    vision: has('image'),
    audioIn: has('audio'),
    inputTokensEstimate: estimatedTokens(bytes),
  };
}

/** The one that would be asked first if all are well. */
function firstTarget(snapshot: Snapshot, principal: Principal, model: string): Target | Failure {
  const candidates = candidatesFor(snapshot, principal, model);
  return isFailure(candidates) ? candidates : firstOf(candidates);
}

/** The same of those that can reach what the body names. */
async function reachingTarget(
  services: CountServices,
  snapshot: Snapshot,
  call: CountCall,
  { model, named, extras }: NamingCount,
): Promise<Target | Failure> {
  const candidates = candidatesFor(snapshot, call.principal, model);
  if (isFailure(candidates) || named.length === 0) return isFailure(candidates) ? candidates : firstOf(candidates);
  const naming = { model, extras: { named, nativeOnly: extras?.nativeOnly ?? null } };
  const bound = await bindTo(services, snapshot, call, naming, candidates);
  return bound === null || bound.kind === 'bound' ? firstOf(bound?.candidates ?? candidates) : bound;
}

function candidatesFor(snapshot: Snapshot, principal: Principal, model: string): readonly RouteCandidate[] | Failure {
  const alias = requestedAlias(snapshot, model, principal);
  return isFailure(alias) ? alias : candidatesOf(snapshot, alias);
}

function firstOf(candidates: readonly RouteCandidate[]): Target {
  return candidates.toSorted((a, b) => a.rank - b.rank || a.target.priority - b.target.priority)[0]!.target;
}

async function countThere(
  { transport }: CountServices,
  { providers }: Snapshot,
  { dialect, callerHeaders }: CountCall,
  request: CountedRequest,
  target: Target,
): Promise<CountedTokens | null> {
  // A count takes a body in its own format only.
  if (dialectFor(target, dialect) !== dialect) return null;
  const provider = providers.get(target.provider);
  const connection = provider === undefined ? undefined : asCaller(provider, callerHeaders).connection;
  if (connection === undefined || (connection.callers !== null && !bringsCredential(connection, callerHeaders)))
    return null;
  const address = encodeCountTokens(connection, target.credentials[0]!.id, dialect, callerHeaders, target.model);
  if (address === null) return null;
  const { bytes } = request.forward({
    model: target.model,
    maxOutputTokens: null,
    body: {},
    streamUsage: 'leave',
    omit: [],
    rename: {},
  });
  try {
    // Services with a separate path for counting take the body as it is.
    const wraps = dialect === 'gemini' && connection.provider.countPath === undefined;
    const countRequest = wraps ? asCountRequest(bytes, target.model) : bytes;
    const { status, body } = await postJson(transport, address, countRequest, upstreamTimeoutMs);
    const tokens = status === 200 && isObject(body) ? (body.input_tokens ?? body.totalTokens) : null;
    return typeof tokens === 'number' ? { kind: 'counted', inputTokens: tokens, by: target } : null;
  } catch {
    return null;
  }
}

async function countHere(
  { tokenCounter, bodies }: CountServices,
  snapshot: Snapshot,
  call: CountCall,
  known: Target | null,
): Promise<CountedTokens | Failure> {
  const { body, dialect, principal } = call;
  const counted = await tokenCounter.count(principal.tenant, body, dialect);
  if (counted === null) {
    // Nobody has looked at a large body yet: one that no endpoint takes has no tokens.
    const read = known === null ? await bodies.readObject(principal.tenant, body) : null;
    if (isFailure(read)) return read;
    return { kind: 'counted', inputTokens: estimatedTokens(body.length), by: null };
  }
  if (isFailure(counted)) return counted;
  const { model, inputTokens } = counted;
  const as = known === null ? await countedAs(call, model, () => ({ inputTokensEstimate: inputTokens })) : null;
  if (isFailure(as)) return as;
  const target = as === null ? known : firstTarget(snapshot, as.principal, as.model);
  return isFailure(target) ? target : { kind: 'counted', inputTokens, by: null };
}
