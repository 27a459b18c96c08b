import { dataRulesOf, type PlanBook } from '../../books/metering/plan-book.ts';
import type { TextPart } from '../../formats/neutral/json-texts.ts';
import type { OutsideFinding, OutsideVerdict } from '../../guards/outside/outside-check.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { JudgedText, RequestView, RunningStep, StepRequest, TextFilter, Verdict } from '../models/steps.ts';
import { findingsOf } from './findings-of.ts';
import { blocked } from './guard-failures.ts';
import { sentencesNamed } from './guard-report.ts';
import { continuedIn, masked, withWordsOfOthers } from './guard-share.ts';
import { GuardedText } from './guarded-text.ts';
import type { MaskBook } from './mask-book.ts';
import type { AskOutside } from './outside-asker.ts';
import { type GuardRule, RunningGuard } from './running-guard.ts';

/** A guard whose service is asked. */
export interface OutsideGuard extends GuardRule {
  ask: AskOutside;
  plans(): PlanBook;
}

/** Findings of the service in some texts: the places of each by its index, and whether the guard lets them pass. */
interface Judged {
  failure: Failure | null;
  places: readonly (readonly Place[])[];
}

/** A negative `start` is in the texts of the answer that were judged before, so many units before this one. */
interface Place {
  kind: string;
  start: number;
  end: number;
}

/** Bytes in base64 within texts: a service would have to guess what they are. */
async function bytesIn(parts: Parts): Promise<number> {
  const found = await findingsOf(
    [],
    parts.map(({ text }) => text),
  );
  return found.flat().length;
}

type Parts = readonly Pick<TextPart, 'kind' | 'names' | 'text'>[];

/** A guard that asks outside, over one request and its answer. */
export class RunningOutsideGuard extends RunningGuard<OutsideGuard> {
  readonly #about: StepRequest;
  readonly #book: MaskBook;
  readonly #isFirst: boolean;
  /** Sentences of the answer that were judged. */
  #sentences = 0;
  /** Ends of the answer's texts, as far as they were judged. */
  readonly #tails = new Map<string, string>();

  constructor(guard: OutsideGuard, about: StepRequest, book: MaskBook) {
    super(guard);
    this.#about = about;
    this.#book = book;
    this.#isFirst = this.masksFirst(book);
  }

  step(): RunningStep {
    const { on, action, check } = this.guard.config;
    return {
      ...(on.includes('input') && check !== 'grounding' && { request: (view: RequestView) => this.#request(view) }),
      ...(on.includes('output') &&
        action !== 'route' && {
          judge: { changes: this.#changes, of: (texts: readonly JudgedText[]) => this.#answer(texts) },
        }),
      ...(this.#isFirst && { answer: ({ isOfTool }) => (isOfTool ? null : this.#restoring()) }),
      session: () => this.unread(1, 'a request of this kind'),
    };
  }

  /** It puts words in the place of what it finds. */
  get #changes(): boolean {
    return this.enforces && this.guard.config.action === 'mask';
  }

  async #request(view: RequestView): Promise<Verdict> {
    const texts = await view.texts();
    const parts = (texts?.parts ?? []).filter((part) => this.#reads(part));
    const unread =
      texts === null ? 1 : this.unreadIn(texts) + (await bytesIn(parts)) + (this.#changes ? continuedIn(texts) : 0);
    const refused =
      unread === 0 ? null : this.unread(unread, texts === null ? 'a request of this kind' : 'a part of this request');
    if (refused !== null) return { refused };
    if (parts.length === 0) return null;
    this.report.waits = true;
    const judging = this.#judged('input', parts);
    const { action, route_to: model } = this.guard.config;
    if (!this.enforces || action === 'block' || action === 'flag') {
      return { beside: judging.then(({ failure }) => failure) };
    }
    // It changes what is sent.
    const { failure, places } = await judging;
    if (failure !== null) return { refused: failure };
    const read = parts.map((part, index) => ({ part, findings: places[index] ?? [] }));
    const isOfTool = this.#isFirst && this.subject !== 'the request';
    const found = (isOfTool ? withWordsOfOthers(read, texts) : read).filter(({ findings }) => findings.length > 0);
    if (this.report.did === 'routed' && model !== undefined) return { model };
    return found.length === 0 ? null : masked(this.guard.name, this.#book, texts, found);
  }

  #reads({ kind, names, text }: Pick<TextPart, 'kind' | 'names' | 'text'>): boolean {
    return text.trim() !== '' && this.reads(kind, names);
  }

  async #answer(texts: readonly JudgedText[]): Promise<Failure | readonly string[]> {
    const parts = texts.filter((part) => this.#reads(part));
    if (parts.length === 0) return texts.map(({ text }) => text);
    const tails = parts.map((part) => this.#tailOf(part));
    const { failure, places } = await this.#judged('output', parts, tails);
    if (failure !== null) return failure;
    if (!this.#changes) return texts.map(({ text }) => text);
    const words = new Map<Place, string>();
    const found = placesInAll(parts, places);
    return texts.map((part) => {
      let text = '';
      let from = 0;
      for (const { of, start, end } of found[parts.indexOf(part)] ?? []) {
        const value = part.text.slice(start, end);
        const word = words.get(of) ?? (this.#book.has(value) ? value : this.#book.answerWordFor(of.kind, value));
        words.set(of, word);
        text += part.text.slice(from, start) + word;
        from = end;
      }
      return text + part.text.slice(from);
    });
  }

  /** The end of what was judged before a part of the same text; it takes the part's own end for the next one. */
  #tailOf({ kind, choice, text, isBeside }: JudgedText): string {
    if (isBeside === true || wholeAnswerChecks.has(this.guard.config.check)) return '';
    const tail = this.#tails.get(`${kind} ${choice}`) ?? '';
    this.#tails.set(`${kind} ${choice}`, (tail + text).slice(-tailChars).replace(/^[\udc00-\udfff]/, ''));
    return tail;
  }

  #restoring(): TextFilter | null {
    if (this.#book.isEmpty) return null;
    return new GuardedText({
      check: null,
      book: this.#book,
      take: (_, value) => value,
      unread: () => null,
      passes: 'what is decided',
    });
  }

  /** Asks about texts, counts what it found, and decides. Never rejects. */
  async #judged(on: 'input' | 'output', parts: Parts, tails: readonly string[] = []): Promise<Judged> {
    const { name, ask } = this.guard;
    const { requestId: id, alias, principal } = this.#about;
    const texts = parts.map(({ kind, names = kind, text }, at) => ({ part: names, text: (tails[at] ?? '') + text }));
    const rules = dataRulesOf(this.guard.plans().plan(principal.plan), principal);
    const found = await ask({ id, on, model: alias?.id ?? null, texts }, { tenant: principal.tenant, rules });
    const barred = found !== null && 'barred' in found ? found.barred : undefined;
    const verdict = found === null || 'barred' in found ? null : behind(tails, found);
    if (on === 'input') this.report.waits = false;
    const none = { failure: null, places: [] };
    if (verdict === null) {
      if (on === 'input') this.report.unread += parts.length;
      return { ...none, failure: this.unanswered(barred) };
    }
    if (on === 'input') this.report.read += parts.length;
    const numbers = verdict.findings.flatMap(({ nth }) => (nth === undefined ? [] : [this.#sentences + nth + 1]));
    this.#sentences += verdict.sentences ?? 0;
    if (verdict.findings.length === 0) return none;
    if (numbers.length > 0) this.report.sentences = [...(this.report.sentences ?? []), ...numbers];
    const places = placesOf(verdict, parts.length);
    const did = this.#doesTo(verdict, places);
    this.count(did, verdict.findings.length);
    if (did !== 'blocked' || !this.enforces) return { failure: null, places: did === 'masked' ? places : [] };
    const why = numbers.length === 0 ? undefined : `nothing supports its ${sentencesNamed(numbers, ', ')}`;
    return { ...none, failure: blocked(name, on === 'input' ? this.subject : 'the answer', why) };
  }

  #doesTo({ findings, action: demanded }: OutsideVerdict, places: Judged['places']) {
    const { action } = this.guard.config;
    if (action === 'flag' || demanded === 'flag') return 'flagged';
    if (action === 'route') return 'routed';
    // What has no place cannot be masked.
    const maskable = demanded === undefined && findings.every(({ at }) => at !== null) && places.length > 0;
    return action === 'mask' && maskable ? 'masked' : 'blocked';
  }
}

/** Characters before a part that are judged with it again. */
const tailChars = 200;
/** Checks that judge each sentence alone. */
const wholeAnswerChecks: ReadonlySet<string> = new Set(['topics', 'grounding']);

/** The findings that reach behind the tails, with their places there. */
function behind(tails: readonly string[], verdict: OutsideVerdict): OutsideVerdict {
  const findings = verdict.findings.flatMap((finding): OutsideFinding[] => {
    const { at } = finding;
    if (at === null) return [finding];
    const chars = tails[at.text]?.length ?? 0;
    return at.end <= chars ? [] : [{ ...finding, at: { ...at, start: at.start - chars, end: at.end - chars } }];
  });
  return { ...verdict, findings };
}

/** Findings by text and in order; those that overlap are one. */
function placesOf({ findings }: OutsideVerdict, texts: number): Judged['places'] {
  return Array.from({ length: texts }, (_, index) => {
    const here = findings.flatMap(({ kind, at }: OutsideFinding) =>
      at?.text === index ? [{ kind: wordOf(kind), ...at }] : [],
    );
    const places: Place[] = [];
    for (const { kind, start, end } of here.sort((one, other) => one.start - other.start)) {
      const last = places.at(-1);
      if (last !== undefined && start < last.end) last.end = Math.max(last.end, end);
      else places.push({ kind, start, end });
    }
    return places;
  });
}

/** The places in each text, also of what reaches into the texts before it, such as segments of one transcript. */
function placesInAll(parts: readonly JudgedText[], places: Judged['places']) {
  const found = parts.map((): { of: Place; start: number; end: number }[] => []);
  for (const [at, here] of places.entries()) {
    for (const of of here) {
      found[at]?.push({ of, start: Math.max(0, of.start), end: of.end });
      let missing = -of.start;
      for (let before = at - 1; before >= 0 && missing > 0; before -= 1) {
        const { kind, choice, isBeside, text } = parts[before]!;
        if (kind !== parts[at]?.kind || choice !== parts[at]?.choice || isBeside === true) continue;
        const start = Math.max(0, text.length - missing);
        // A finding in that text alone is not changed twice.
        const from = Math.max(start, found[before]?.at(-1)?.end ?? 0);
        if (from < text.length) found[before]?.push({ of, start: from, end: text.length });
        missing -= text.length;
      }
    }
  }
  return found;
}

/** A kind of a service in the form of our words. */
function wordOf(kind: string): string {
  const word = kind
    .replace(/[^A-Za-z]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .slice(0, 24);
  return word === '' ? 'finding' : word;
}
