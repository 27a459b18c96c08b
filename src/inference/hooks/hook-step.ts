import type { HookConfig } from '../../config/schema.ts';
import type { TextPart } from '../../formats/neutral/json-texts.ts';
import type { HookRunner } from '../../hooks/hook-call.ts';
import type { HookName } from '../../hooks/hook-names.ts';
import { answerReply, type Checked, requestReply, routeReply } from '../../hooks/hook-reply.ts';
import type { HookAttempt, HookFacts, HookSettled, RequestReply } from '../../hooks/hook-types.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { AttemptRecord } from '../../routing/route.ts';
import type {
  AddedVerdict,
  GatewayStep,
  JudgedText,
  RequestView,
  RunningStep,
  StepRequest,
  TargetChoice,
  Verdict,
} from '../models/steps.ts';

/** A hook of the configuration, and the runner of its code. */
export interface ConfiguredHook {
  name: string;
  config: HookConfig;
  runner: HookRunner;
  /** Why its code cannot be used; null: it can. */
  broken: string | null;
  log: { warn(fields: object, message: string): void };
  /** When its trouble was logged last, monotonic. */
  warned: { atMs: number };
}

const warnEveryMs = 10_000;

/** A hook as a step of requests and their answers. */
export function hookStep(hook: ConfiguredHook): GatewayStep {
  const { runner, broken } = hook;
  // Without functions that requests wait for, none is held up by it.
  const waits = broken !== null || [...(runner.functions ?? [])].some((name) => name !== 'onSettled');
  return { begin: (about) => (waits ? new RunningHook(hook, about).step() : null) };
}

/** One hook over one request. */
class RunningHook {
  readonly #hook: ConfiguredHook;
  readonly #about: StepRequest;
  readonly #facts: HookFacts;

  constructor(hook: ConfiguredHook, about: StepRequest) {
    this.#hook = hook;
    this.#about = about;
    const { requestId, endpoint, alias, principal } = about;
    const { account, plan, keyId, keyName } = principal;
    this.#facts = { requestId, endpoint, model: alias?.id ?? null, caller: { account, plan, keyId, keyName } };
  }

  step(): RunningStep {
    const { broken, runner } = this.#hook;
    if (broken !== null) {
      const failure = this.#failed(broken);
      return failure === null ? {} : { request: () => ({ refused: failure }), session: () => failure };
    }
    const has = (name: HookName) => runner.functions?.has(name) === true;
    const judges = has('onAnswer') ? 'onAnswer' : has('onEvent') ? 'onEvent' : null;
    return {
      ...(has('onRequest') && { request: (view: RequestView) => this.#request(view) }),
      ...(has('onRequest') && { turns: (added: RequestView) => this.#turns(added) }),
      ...(has('onRoute') && { route: (targets: readonly string[]) => this.#route(targets) }),
      ...(has('onAttempt') && { attempted: (attempt: AttemptRecord) => this.#attempted(attempt) }),
      ...(judges !== null && {
        judge: {
          changes: true,
          ...(judges === 'onAnswer' && { whole: true as const }),
          of: (texts: readonly JudgedText[]) => this.#answer(judges, texts),
        },
      }),
      ...((has('onRequest') || judges !== null) && { session: () => this.#failed('it sees no text of a session') }),
    };
  }

  async #request(view: RequestView): Promise<Verdict> {
    const texts = await view.texts();
    const parts = texts?.parts.filter(isHookText) ?? [];
    const data = {
      ...this.#facts,
      texts: parts.map(({ kind, text }) => ({ kind, text })),
      unread: texts?.unread.length ?? 1,
      headers: this.#headers(),
    };
    const { value, failure } = await this.#ask('onRequest', data, (reply) => requestReply(reply, parts.length));
    if (failure !== null) return { refused: failure };
    if (value === null) return null;
    return value.refuse === undefined ? verdictOf(value, parts) : { refused: this.#refused(value.refuse) };
  }

  /** It changes texts of them, or refuses them. For all else it is too late. */
  async #turns(added: RequestView): Promise<AddedVerdict> {
    const verdict = await this.#request(added);
    if (verdict === null || 'beside' in verdict) return null;
    if ('refused' in verdict) return verdict;
    return verdict.changes === undefined ? null : { changes: verdict.changes };
  }

  async #route(targets: readonly string[]): Promise<TargetChoice> {
    const check = (reply: unknown) => routeReply(reply, targets);
    const { value, failure } = await this.#ask('onRoute', { ...this.#facts, targets }, check);
    if (failure !== null) return failure;
    return value?.refuse === undefined ? (value?.targets ?? null) : this.#refused(value.refuse);
  }

  #attempted({ provider, model: target, class: outcome, status, ms }: AttemptRecord): void {
    const attempt = { ...this.#facts, provider, target, outcome, status, ms: Math.round(ms) };
    void letLook(this.#hook, 'onAttempt', attempt);
  }

  async #answer(on: 'onAnswer' | 'onEvent', texts: readonly JudgedText[]): Promise<Failure | readonly string[]> {
    const places = [...texts.keys()].filter((at) => texts[at]?.kind !== 'label' && texts[at]?.isName !== true);
    const sentTexts = texts
      .filter((_, at) => places.includes(at))
      .map(({ kind, choice, text }) => ({ kind, choice, text }));
    if (places.length === 0) return texts.map(({ text }) => text);
    const check = (reply: unknown) => answerReply(reply, places.length);
    const { value, failure } = await this.#ask(on, { ...this.#facts, texts: sentTexts }, check);
    if (failure !== null) return failure;
    if (value?.refuse !== undefined) return this.#refused(value.refuse);
    const changed = texts.map(({ text }) => text);
    for (const { at, text } of value?.texts ?? []) {
      const place = places[at];
      if (place !== undefined) changed[place] = text;
    }
    return changed;
  }

  /** Asks, and checks the reply. A failure: nobody passes without a reply. */
  async #ask<T>(
    on: HookName,
    data: object,
    check: (reply: unknown) => Checked<T>,
  ): Promise<{ value: T | null; failure: Failure | null }> {
    const outcome = await this.#hook.runner.call(on, this.#facts.caller.account, data);
    const checked = outcome.ok ? check(outcome.reply) : outcome;
    if (checked.ok) return { value: checked.value, failure: null };
    return { value: null, failure: this.#failed(`${on}: ${checked.why}`) };
  }

  /** Fate of a request whose hook gave no reply that can be used; null: it goes on. */
  #failed(why: string): Failure | null {
    const { name, config } = this.#hook;
    warn(this.#hook, this.#facts.requestId, why);
    if (config.on_error === 'allow') return null;
    const message = `The hook '${name}' of this server gave no usable reply, and nothing passes without one. Try again later, or ask the operator.`;
    return { kind: 'guard-unanswered', guard: name, message };
  }

  #refused(message: string): Failure {
    return { kind: 'guard-blocked', guard: this.#hook.name, message };
  }

  #headers(): Record<string, string> {
    const seen: Record<string, string> = {};
    for (const name of this.#hook.config.headers) {
      const value = this.#about.callerHeaders[name];
      if (value !== undefined) seen[name] = typeof value === 'string' ? value : value.join(', ');
    }
    return seen;
  }
}

/** Calls a function for which no request waits. The log says if it fails. */
export async function letLook(
  hook: Pick<ConfiguredHook, 'name' | 'config' | 'runner' | 'log' | 'warned'>,
  on: HookName,
  facts: HookSettled | HookAttempt,
): Promise<void> {
  const outcome = await hook.runner.call(on, facts.caller.account, facts);
  if (!outcome.ok) warn(hook, facts.requestId, `${on}: ${outcome.why}`);
}

function warn(
  { name, config, log, warned }: Pick<ConfiguredHook, 'name' | 'config' | 'log' | 'warned'>,
  requestId: string,
  why: string,
): void {
  const nowMs = performance.now();
  if (warned.atMs !== 0 && nowMs - warned.atMs < warnEveryMs) return;
  warned.atMs = nowMs;
  log.warn({ hook: name, requestId, why, on_error: config.on_error }, 'a hook failed');
}

/** Names of members and words of the format are no texts; numbers are, where a value may be one. */
export function isHookText({ as, kind }: Pick<TextPart, 'as' | 'kind'>): boolean {
  return as !== 'name' && kind !== 'label';
}

function verdictOf({ model, tag, texts = [], system, parameters }: RequestReply, parts: readonly TextPart[]): Verdict {
  const changes = texts.flatMap(({ at, text }) => {
    const part = parts[at];
    return part === undefined ? [] : [{ ...part, text }];
  });
  const adds = system !== undefined || parameters !== undefined;
  const messages = system === undefined ? [] : [{ role: 'system' as const, content: system }];
  return {
    ...(changes.length > 0 && { changes }),
    ...(model !== undefined && { model }),
    ...(tag !== undefined && { tag }),
    ...(adds && { addition: { messages, parameters: { ...parameters }, over: true, model: null } }),
  };
}
