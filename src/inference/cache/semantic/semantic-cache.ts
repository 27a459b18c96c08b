import { hash } from 'node:crypto';
import type { CacheEntry, CacheStore } from '../../../books/metering/cache-store.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { newRequestId } from '../../../kernel/ids.ts';
import { putNewest } from '../../../kernel/put-newest.ts';
import type { Random } from '../../../kernel/random.ts';
import { withinMs } from '../../../kernel/within-ms.ts';
import type { SemanticRule } from '../../models/alias.ts';
import type { InnerCalls } from '../../spine/answer-cache.ts';
import type { CacheKey } from '../cache-key.ts';
import type { Landed } from '../flight.ts';
import { lookMsMax } from '../look-up.ts';
import type { CachedAnswer } from '../packed-entry.ts';
import { decidingDigest, questionCharsMax } from './deciding-parts.ts';
import { errorBound, withObservation } from './error-bound.ts';
import {
  type KnownQuestion,
  type NearQuestion,
  nearest,
  packQuestions,
  questionsMax,
  unpackQuestions,
  vectorsOf,
} from './known-questions.ts';
import { changingPart, learnTemplate, learntFrom, type QuestionTemplate } from './question-template.ts';
import { isSameAnswer, textOfAnswer } from './same-answer.ts';

/** A question that had no equal one. */
export interface SimilarQuestion {
  rule: SemanticRule;
  /** Its last turn. */
  text: string;
  /** Key of all else that can change the answer: questions of another filter never meet. */
  filter: CacheKey;
  /** Where its own answer will be kept. */
  answerKey: CacheKey;
  /** Facts of rows in the store. */
  row: Pick<CacheEntry, 'keyId' | 'model' | 'tag'>;
  /** The kept answer of that digest, as fresh as this request wants it; null: there is none. */
  answerOf(digest: string): Promise<Landed | null>;
}

/** `landed`: the answer to a similar question, which may be given. `learn` takes the upstream's answer, once it is kept. */
export type Similar = { landed: Landed } | { learn(entry: CachedAnswer): void };

export interface SemanticCacheParts {
  store: CacheStore;
  clock: Pick<Clock, 'wallMs'>;
  calls: InnerCalls;
  random: Random;
  /** A later hit was checked. */
  onChecked(model: string, isRight: boolean): void;
}

/** For the embedding of a question that is learnt, which nobody waits for. */
const learnMsMax = 30_000;
/** Answers that are learnt from at once, of all scopes and of one: each waits in memory. One more is no observation. */
const learningMax = 256;
const learningOfScopeMax = 32;
/** Times that a change meets one of another process before it is given up: one observation less. */
const changesMax = 100;
/** Observations outlive the answers: they say which questions are alike. */
const observedMs = 30 * 86_400_000;

/**
 * Answers of similar questions. Known questions are kept by filter and deciding parts, so that a look-up reads one small
 * row; only where it has one, the question is embedded. Each known question has its own observations: until their
 * bound is low enough, the upstream is asked all the same, and its answer compared.
 */
export class SemanticCache {
  readonly #parts: SemanticCacheParts;
  readonly #templates: Templates;
  /** The last change of a row under way, by its place. */
  readonly #changes = new Map<string, Promise<void>>();
  /** Answers that are learnt from, by scope. */
  readonly #learning = new Map<string, number>();
  #learningInAll = 0;

  constructor(parts: SemanticCacheParts) {
    this.#parts = parts;
    this.#templates = new Templates(parts.store, parts.clock);
  }

  /** Null: the question is not of a kind that can be similar to others. Never rejects. */
  async ask(question: SimilarQuestion): Promise<Similar | null> {
    const { text, filter, rule } = question;
    if (text.trim() === '' || text.length > questionCharsMax) return null;
    const parts = decidingDigest(text);
    const place = { scope: filter.scope, digest: `q.${hash('sha256', `${filter.digest} ${parts}`, 'base64url')}` };
    const known = await withinMs(lookMsMax, this.#read(place), 'late').catch(() => []);
    if (known === 'late') return null;
    const template = await this.#templates.of(question, parts);
    if (known.length === 0) return this.#learner(question, place, template, null, null);
    const { part, template: name } = changingPart(text, template);
    const [vector = null] = vectorsOf(await this.#parts.calls.embed(rule.model, [part], rule.deadlineMs));
    const near = vector === null ? null : nearest(known, vector, name);
    if (near === null) return this.#learner(question, place, template, vector, null);
    const mayServe = errorBound(near.question.observed, near.similarity) < rule.errorMax;
    const isChecked = mayServe && this.#parts.random.next() < rule.sample;
    if (mayServe && !isChecked) {
      const landed = await question.answerOf(near.question.answer);
      if (landed !== null) return { landed: { ...landed, similarity: near.similarity } };
    }
    return this.#learner(question, place, template, vector, { ...near, isChecked });
  }

  #learner(
    question: SimilarQuestion,
    place: CacheKey,
    template: QuestionTemplate | null,
    vector: Float32Array | null,
    near: (NearQuestion & { isChecked: boolean }) | null,
  ): Similar {
    return {
      learn: (entry) => {
        const learning = async () => {
          const isRight = near === null ? null : await this.#compared(question, near, entry);
          await this.#learn(question, place, template, vector, near, isRight);
        };
        this.#inBounds(question.filter.scope, learning);
      },
    };
  }

  #inBounds(scope: string, learning: () => Promise<void>): void {
    const count = this.#learning.get(scope) ?? 0;
    if (count === learningOfScopeMax || this.#learningInAll === learningMax) return;
    this.#learning.set(scope, count + 1);
    this.#learningInAll += 1;
    void learning()
      .catch(() => undefined)
      .finally(() => {
        const left = (this.#learning.get(scope) ?? 1) - 1;
        if (left === 0) this.#learning.delete(scope);
        else this.#learning.set(scope, left);
        this.#learningInAll -= 1;
      });
  }

  /** Whether the near question's answer says what the upstream says to this one; null: nobody can tell. */
  async #compared(
    { rule, text, row, answerOf }: SimilarQuestion,
    { question, isChecked }: NearQuestion & { isChecked: boolean },
    entry: CachedAnswer,
  ): Promise<boolean | null> {
    const answer = await answerOf(question.answer);
    const [one, other] = [answer === null ? null : textOfAnswer(answer.entry), textOfAnswer(entry)];
    if (one === null || other === null) return null;
    const isRight = await isSameAnswer(this.#parts.calls, rule, text, [one, other]);
    if (isChecked && isRight !== null) this.#parts.onChecked(row.model, isRight);
    return isRight;
  }

  async #learn(
    { rule, text, answerKey, row, answerOf }: SimilarQuestion,
    place: CacheKey,
    template: QuestionTemplate | null,
    known: Float32Array | null,
    near: NearQuestion | null,
    isRight: boolean | null,
  ): Promise<void> {
    const { part, template: name } = changingPart(text, template);
    const [vector] =
      known === null ? vectorsOf(await this.#parts.calls.embed(rule.model, [part], learnMsMax)) : [known];
    if (vector === undefined) return;
    const nearIsMissing = near !== null && (await answerOf(near.question.answer)) === null;
    await this.#change(place, row, (questions) => {
      const at = questions.findIndex(({ id }) => id === near?.question.id);
      const same = questions[at];
      if (near !== null && same !== undefined && isRight !== false) {
        // Where its answer is over, this one takes its place: from now on others are compared with this.
        const answer = nearIsMissing ? answerKey.digest : same.answer;
        const observed = isRight === null ? same.observed : withObservation(same.observed, near.similarity, isRight);
        return questions.with(at, { ...same, answer, observed });
      }
      const others =
        near !== null && same !== undefined
          ? questions.with(at, { ...same, observed: withObservation(same.observed, near.similarity, false) })
          : questions;
      // One that came meanwhile is as good: what is observed should come to few questions.
      const isKnown =
        near === null
          ? nearest(others, vector, name) !== null
          : others.some(({ answer }) => answer === answerKey.digest);
      const id = newRequestId(this.#parts.clock.wallMs());
      return isKnown ? others : [...others, { id, vector, template: name, answer: answerKey.digest, observed: {} }];
    });
  }

  /** One change of a row after the other; where another process was first, over what that one wrote. */
  #change(
    place: CacheKey,
    row: SimilarQuestion['row'],
    change: (questions: readonly KnownQuestion[]) => readonly KnownQuestion[],
  ): Promise<void> {
    const at = `${place.scope} ${place.digest}`;
    const changing = (this.#changes.get(at) ?? Promise.resolve()).then(async () => {
      const { store, clock } = this.#parts;
      for (let n = 0; n < changesMax; n += 1) {
        const found = await store.get(place.scope, place.digest);
        const questions = change(found === null ? [] : unpackQuestions(found.body, place));
        const nowMs = clock.wallMs();
        const atMs = Math.max(nowMs, (found?.atMs ?? 0) + 1);
        const body = packQuestions(bestObserved(questions), place);
        const entry = { ...row, atMs, expiresAtMs: nowMs + observedMs, body };
        if (store.swap === undefined) {
          // The next change finds it from now on.
          store.put(place.scope, place.digest, entry).catch(() => undefined);
          return;
        }
        if (await store.swap(place.scope, place.digest, entry, found?.atMs ?? null)) return;
      }
    });
    const ended = changing
      .catch(() => undefined)
      .then(() => {
        if (this.#changes.get(at) === ended) this.#changes.delete(at);
      });
    this.#changes.set(at, ended);
    return ended;
  }

  async #read(place: CacheKey): Promise<KnownQuestion[]> {
    const found = await this.#parts.store.get(place.scope, place.digest);
    return found === null ? [] : unpackQuestions(found.body, place);
  }
}

function bestObserved(questions: readonly KnownQuestion[]): readonly KnownQuestion[] {
  if (questions.length <= questionsMax) return questions;
  const count = ({ observed }: KnownQuestion) =>
    Object.values(observed).reduce((sum, [right, wrong]) => sum + right + wrong, 0);
  // The newest has none: it takes the place of the one that is seen least.
  const [newest, ...others] = questions.toReversed();
  const best = others.toSorted((one, other) => count(other) - count(one)).slice(0, questionsMax - 1);
  return newest === undefined ? best : [...best, newest];
}

/** Filters whose questions are in memory, the one used last at the end. */
const filtersMax = 2_000;
const retentionMs = 30 * 86_400_000;

type Known = { texts: Map<string, string> } | { template: QuestionTemplate | null };

/** The templates of filters: learnt from the first questions that this process sees, then kept in the store, so that a restart has them. */
class Templates {
  readonly #store: CacheStore;
  readonly #clock: Pick<Clock, 'wallMs'>;
  readonly #known = new Map<string, Known>();

  constructor(store: CacheStore, clock: Pick<Clock, 'wallMs'>) {
    this.#store = store;
    this.#clock = clock;
  }

  /** `parts`: digest of the question's deciding parts. Null: there is none, or none yet. Never rejects. */
  async of(
    { filter, text, row }: { filter: CacheKey; text: string; row: Pick<CacheEntry, 'keyId' | 'model' | 'tag'> },
    parts: string,
  ): Promise<QuestionTemplate | null> {
    const at = `${filter.scope} ${filter.digest}`;
    const place = { scope: filter.scope, digest: `t.${hash('sha256', filter.digest, 'base64url')}` };
    const known = this.#known.get(at) ?? (await this.#load(place)) ?? { texts: new Map<string, string>() };
    putNewest(this.#known, at, known, filtersMax);
    if ('template' in known) return known.template;
    // Spellings of one question have more in common than their template.
    known.texts.set(parts, text);
    if (known.texts.size < learntFrom) return null;
    const template = learnTemplate([...known.texts.values()]);
    this.#known.set(at, { template });
    const atMs = this.#clock.wallMs();
    const body = Buffer.from(JSON.stringify({ template }));
    this.#store
      .put(place.scope, place.digest, { ...row, atMs, expiresAtMs: atMs + retentionMs, body })
      .catch(() => undefined);
    return template;
  }

  async #load({ scope, digest }: CacheKey): Promise<Known | null> {
    try {
      const found = await withinMs(lookMsMax, this.#store.get(scope, digest), 'late');
      return found === null || found === 'late'
        ? null
        : (JSON.parse(found.body.toString('utf8')) as { template: QuestionTemplate | null });
    } catch {
      return null;
    }
  }
}
