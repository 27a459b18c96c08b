import { type Principal, serverPlan } from '../../books/auth/principal.ts';
import type { PlanBook } from '../../books/metering/plan-book.ts';
import type { Config, GuardConfig } from '../../config/schema.ts';
import type { Check, Finding } from '../../guards/check.ts';
import { injection } from '../../guards/checks/injection.ts';
import { links } from '../../guards/checks/links.ts';
import { personalData } from '../../guards/checks/personal-data.ts';
import { secrets } from '../../guards/checks/secrets.ts';
import { words } from '../../guards/checks/words.ts';
import {
  builtInChecks,
  injectionKinds,
  linkKinds,
  partsFromElsewhere,
  partsOfConversation,
  personalKinds,
  secretKinds,
} from '../../guards/kinds.ts';
import type { Failure } from '../../kernel/failure.ts';
import type {
  AnswerTextPlace,
  RequestView,
  RunningStep,
  ScopedStep,
  StepRequest,
  TextFilter,
  Verdict,
} from '../models/steps.ts';
import { findingsOfParts } from './findings-of.ts';
import { blocked } from './guard-failures.ts';
import { type GuardReport, reportOf } from './guard-report.ts';
import { continuedIn, masked, shareOf, withWordsOfOthers } from './guard-share.ts';
import { GuardedText } from './guarded-text.ts';
import { MaskBook } from './mask-book.ts';
import type { AskingParts } from './outside-services.ts';
import { type GuardRule, RunningGuard, unreadEndpoints } from './running-guard.ts';

/** Counts verdicts for the metrics. */
export type CountVerdict = (guard: string, verdict: string) => void;

/** Parts of the server that guards need. */
export interface GuardParts extends AskingParts {
  plans(): PlanBook;
  countVerdict: CountVerdict;
}

/** A guard with rules for texts. */
interface Guard extends GuardRule {
  check: Check;
}

type Begins = (about: StepRequest) => RunningStep | null;

/** A guard over one request. */
interface Running {
  report: GuardReport;
  subject: RunningGuard['subject'];
  step(): RunningStep;
  unreadAnswer(endpoint: string): Failure | null;
}

/** The guards of a configuration as steps, in its order, and one more for the names of guards that are not there. */
export async function guardSteps(
  { guards, server }: Pick<Config, 'guards' | 'server'>,
  { plans, countVerdict, ...over }: GuardParts,
): Promise<ScopedStep[]> {
  const steps: ScopedStep[] = [];
  for (const [name, config] of Object.entries(guards)) {
    const reads = { name, config, parts: partsReadBy(config), countVerdict };
    const check = await builtInCheck(config);
    const begin = check === null ? await beginsOther(reads, { plans, ...over }) : beginsWith({ ...reads, check });
    const on: ScopedStep['on'] =
      server.guards?.includes(name) === true
        ? 'server'
        : ({ plan, guards: keyGuards }, alias) =>
            alias?.guards?.includes(name) === true ||
            plans().plan(plan).guards.includes(name) ||
            keyGuards.includes(name);
    steps.push({ step: { begin }, on });
  }
  const lacks = ({ plan, guards: keyGuards }: Principal): string | undefined =>
    [...plans().plan(plan).guards, ...keyGuards].find((name) => !Object.hasOwn(guards, name));
  const begin = ({ principal }: StepRequest) => refusing(lacks(principal) ?? '');
  steps.push({ step: { begin }, on: (principal) => lacks(principal) !== undefined });
  return steps;
}

/** Parts that a check reads where its guard names none; the others read all. */
const partsOf: Partial<Record<GuardConfig['check'], readonly string[]>> = {
  injection: partsFromElsewhere,
  languages: partsOfConversation,
  topics: partsOfConversation,
  grounding: ['assistant'],
};

/** Parts of requests and answers that a guard reads; null: all of them. */
export function partsReadBy({ check, parts: configured }: GuardConfig): ReadonlySet<string> | null {
  const parts = configured ?? partsOf[check];
  return parts === undefined ? null : new Set<string>(parts);
}

/** The check of a guard; null: it has no rules for texts. */
export async function builtInCheck(config: GuardConfig): Promise<Check | null> {
  const { check } = config;
  return isBuiltIn(check) ? checkOf({ ...config, check }) : null;
}

type BuiltIn = (typeof builtInChecks)[number];

const isBuiltIn = (check: GuardConfig['check']): check is BuiltIn => builtInChecks.some((one) => one === check);

async function checkOf({
  check,
  kinds,
  countries,
  hosts,
  languages,
  patterns,
  words: list,
}: Omit<GuardConfig, 'check'> & { check: BuiltIn }): Promise<Check> {
  const listed = <K extends string>(all: readonly K[]) => all.filter((kind) => kinds?.includes(kind as never) ?? true);
  switch (check) {
    case 'personal-data':
      return personalData(listed(personalKinds), countries);
    case 'secrets':
      return secrets(listed(secretKinds));
    case 'links':
      return links(listed(linkKinds), hosts ?? []);
    case 'injection':
      return injection(listed(injectionKinds));
    case 'words':
      return words(list ?? []);
    case 'languages': {
      const module = await import('../../guards/checks/languages.ts');
      return module.languages(languages ?? []);
    }
    case 'patterns': {
      const module = await import('../../guards/checks/patterns.ts');
      return module.patterns(patterns ?? []);
    }
  }
}

/** A guard left the file, and a stored plan, account or key names it still: nobody is served unguarded. */
function refusing(guard: string): RunningStep {
  const message = `The guard '${guard}' of this caller is not set up on this server. Ask its operator to set it up.`;
  const failure: Failure = { kind: 'overloaded', message };
  return { request: () => ({ refused: failure }), session: () => failure };
}

/** Loaded where a guard looks at sizes or forms, or asks outside. */
async function beginsOther(reads: GuardRule, { plans, ...over }: Omit<GuardParts, 'countVerdict'>): Promise<Begins> {
  if (reads.config.check === 'sizes') {
    const { RunningSizeGuard } = await import('./size-guard.ts');
    return (about) => joined(about, shareOf(about), new RunningSizeGuard(reads));
  }
  if (reads.config.check === 'json-schema') {
    const { RunningSchemaGuard } = await import('./schema-guard.ts');
    const { portsOver } = await import('./server-ports.ts');
    const guard = { ...reads, ports: () => portsOver(over.transport) };
    return (about) => joined(about, shareOf(about), new RunningSchemaGuard(guard, about));
  }
  const { openOutside } = await import('./outside-services.ts');
  const { RunningOutsideGuard } = await import('./outside-guard.ts');
  const guard = { ...reads, plans, ask: await openOutside(reads.name, reads.config, over) };
  return (about) => {
    // A model that a guard asks would be asked about its own question.
    if (about.principal.plan === serverPlan) return null;
    const share = shareOf(about);
    return joined(about, share, new RunningOutsideGuard(guard, about, share.book));
  };
}

function beginsWith(guard: Guard): Begins {
  return (about) => {
    const share = shareOf(about);
    return joined(about, share, new RunningRules(guard, share.book));
  };
}

/** The first guard of a request says what all of them did. */
function joined(
  { endpoint }: StepRequest,
  { reports, isFirst }: ReturnType<typeof shareOf>,
  running: Running,
): RunningStep {
  reports.push(running.report);
  const step = unreadEndpoints.has(endpoint)
    ? withUnreadAnswer(endpoint, running)
    : endpoint === 'passthrough'
      ? asSession(running.step())
      : withTurns(running);
  return { ...step, ...(isFirst && { headers: () => ['x-culvert-guard', reportOf(reports)] }) };
}

/** Refuses before the model is asked: what it makes is paid for, and nobody could read it. */
function withUnreadAnswer(endpoint: string, running: Running): RunningStep {
  const { request, ...step } = running.step();
  return {
    ...step,
    async request(view) {
      const refused = running.unreadAnswer(endpoint);
      return refused === null ? ((await request?.(view)) ?? null) : { refused };
    },
  };
}

/** The same, with a look at additions of tools of this server, which are read as the request is. */
function withTurns(running: Running): RunningStep {
  const step = running.step();
  const { request } = step;
  if (request === undefined) return step;
  return {
    ...step,
    async turns(view) {
      const wasRouted = running.report.did === 'routed';
      running.subject = 'what a tool of this server brings';
      const verdict = (await request(view)) ?? null;
      if (verdict === null || 'refused' in verdict) return verdict;
      if ('beside' in verdict) {
        const refused = await verdict.beside;
        return refused === null ? null : { refused };
      }
      const { model, changes } = verdict;
      // The model that it would route to may be another one than the one that has begun.
      if (model !== undefined && !wasRouted) return { refused: blocked(running.report.name, running.subject) };
      return changes === undefined ? null : { changes };
    },
  };
}

/** Nobody reads what passes through as it is, on its way in or out: a guard of either way lets it pass as it does a session. */
function asSession(step: RunningStep): RunningStep {
  return {
    ...step,
    request() {
      const refused = step.session?.() ?? null;
      return refused === null ? null : { refused };
    },
  };
}

/** Rules over the texts of one request and its answer. */
class RunningRules extends RunningGuard<Guard> {
  readonly #book: MaskBook;
  readonly #isFirst: boolean;

  constructor(guard: Guard, book: MaskBook) {
    super(guard);
    this.#book = book;
    this.#isFirst = this.masksFirst(book);
  }

  step(): RunningStep {
    return {
      ...(this.guard.config.on.includes('input') && { request: (view: RequestView) => this.request(view) }),
      session: () => this.unread(1, 'a request of this kind'),
      answer: (place) => this.answer(place),
    };
  }

  async request(view: RequestView): Promise<Verdict> {
    const texts = await view.texts();
    const { config, check } = this.guard;
    const parts = (texts?.parts ?? []).filter((part) => this.reads(part.kind, part.names));
    this.report.read += parts.length;
    const all = await findingsOfParts(check, parts);
    const bytes = all.flat().filter(({ isUnread }) => isUnread === true).length;
    const heldBytes = config.action === 'mask' && this.enforces ? continuedIn(texts) : 0;
    const unread = texts === null ? 1 : this.unreadIn(texts) + bytes + heldBytes;
    const what = texts === null ? 'a request of this kind' : 'a part of this request';
    const refused = unread > 0 ? this.unread(unread, what) : null;
    if (refused !== null) return { refused };
    const findingsAt = (index: number) => (all[index] ?? []).filter(({ isUnread }) => isUnread === undefined);
    const read = parts.map((part, index) => ({ part, findings: findingsAt(index) }));
    for (const { findings } of read) if (findings.length > 0) this.#count(findings.length, 'input');
    const isOfTool = this.#isFirst && this.subject !== 'the request';
    const found = (isOfTool ? withWordsOfOthers(read, texts) : read).filter(({ findings }) => findings.length > 0);
    if (found.length === 0 || !this.enforces) return null;
    const { action, route_to: model } = config;
    if (action === 'block') return { refused: blocked(this.guard.name, this.subject) };
    if (action === 'route' && model !== undefined) return { model };
    return action === 'mask' ? masked(this.guard.name, this.#book, texts, found) : null;
  }

  answer({ kind, isOfTool }: AnswerTextPlace): TextFilter | null {
    if (kind === 'label') return null;
    const { config, check } = this.guard;
    const { action } = config;
    const looks = config.on.includes('output') && action !== 'route' && this.reads(kind);
    const restores = this.#isFirst && isOfTool !== true;
    if (!looks && (!restores || this.#book.isEmpty)) return null;
    return new GuardedText({
      check: looks ? check : null,
      book: restores ? this.#book : noWords,
      take: (finding, value) => this.#take(finding, value),
      unread: (parts) => (looks ? this.unread(parts, 'a part of the answer') : null),
      passes: this.enforces && action !== 'flag' ? 'what is decided' : 'all',
    });
  }

  #take({ kind }: Finding, value: string): string | Failure {
    // The caller's own, which another guard has given back.
    if (this.#book.has(value)) return value;
    this.#count(1, 'output');
    const { action } = this.guard.config;
    if (!this.enforces || action === 'flag') return value;
    return action === 'block' ? blocked(this.guard.name, 'the answer') : this.#book.answerWordFor(kind, value);
  }

  #count(findings: number, of: 'input' | 'output'): void {
    const { action } = this.guard.config;
    if (action !== 'route' || of === 'input') this.count(didOf[action], findings);
  }
}

const noWords = new MaskBook();
const didOf = { block: 'blocked', mask: 'masked', flag: 'flagged', route: 'routed' } as const;
