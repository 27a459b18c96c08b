import type { GuardConfig } from '../../config/schema.ts';
import { pathModel } from '../../formats/dialects/gemini/path-members.ts';
import type { TextPart, Texts } from '../../formats/neutral/json-texts.ts';
import { estimatedTokens } from '../../formats/neutral/usage.ts';
import { type SizeKind, sizeKinds } from '../../guards/kinds.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { AnswerTextPlace, RequestView, RunningStep, TextFilter, Verdict } from '../models/steps.ts';
import { blocked } from './guard-failures.ts';
import { RunningGuard } from './running-guard.ts';

type Sizes = Readonly<Record<SizeKind, number>>;

/** Members that hold the messages of a conversation. */
const conversation = new Set<string | number>(['messages', 'input', 'contents']);

/** The sizes of a request, and of each part of it that `reads`. */
export function sizesOf({ parts, unread }: Texts, reads: (part: TextPart) => boolean): Sizes {
  let chars = 0;
  let bytes = 0;
  let attachments = unread.filter(({ kind }) => kind !== 'tokens').length;
  const tokens = unread.reduce((sum, { tokens = 0 }) => sum + tokens, 0);
  const counted = new Set(unread.map(({ path }) => path.join()));
  const turns = new Map<string, boolean>();
  for (const part of parts) {
    const { path, kind, text } = part;
    const isTurn = conversation.has(path[0] ?? '');
    if (isTurn) turns.set(path.slice(0, 2).join(), turns.get(path.slice(0, 2).join()) === true || kind === 'system');
    if (isTurn && (kind === 'address' || kind === 'file-text') && !counted.has(path.join())) attachments += 1;
    if (kind === 'label' || path[0] === pathModel || !reads(part)) continue;
    chars += text.length;
    bytes += Buffer.byteLength(text);
  }
  for (const { path } of unread) {
    const turn = path.slice(0, 2).join();
    if (conversation.has(path[0] ?? '') && !turns.has(turn)) turns.set(turn, false);
  }
  const turnCount = [...turns.values()].filter((isSystem) => !isSystem).length;
  return { chars, tokens: tokens + estimatedTokens(bytes), turns: turnCount, attachments };
}

/** Kinds whose limit is passed. */
export function tooLarge({ limits = {} }: Pick<GuardConfig, 'limits'>, sizes: Partial<Sizes>): SizeKind[] {
  return sizeKinds.filter((kind) => (sizes[kind] ?? 0) > (limits[kind] ?? Number.POSITIVE_INFINITY));
}

/** The limits of one guard over a request and each of its answers. */
export class RunningSizeGuard extends RunningGuard {
  /** Sizes of answers by their index, as far as they came. */
  readonly #answers = new Map<number, { chars: number; bytes: number }>();
  readonly #found = new Set<number>();

  step(): RunningStep {
    const { on, action } = this.guard.config;
    const looks = on.includes('output') && action !== 'route';
    return {
      ...(on.includes('input') && { request: (view: RequestView) => this.#request(view) }),
      ...(looks && { answer: (place: AnswerTextPlace) => this.#answer(place) }),
      session: () => this.unread(1, 'a request of this kind'),
    };
  }

  async #request(view: RequestView): Promise<Verdict> {
    const texts = await view.texts();
    if (texts === null) {
      const refused = this.unread(1, 'a request of this kind');
      return refused === null ? null : { refused };
    }
    this.report.read += 1;
    const { config } = this.guard;
    const sizes = sizesOf(texts, ({ kind }) => this.reads(kind));
    const [kind, ...more] = tooLarge(config, sizes);
    if (kind === undefined) return null;
    this.#count(1 + more.length);
    if (!this.enforces || config.action === 'flag') return null;
    if (config.action === 'route' && config.route_to !== undefined) return { model: config.route_to };
    return { refused: this.#refusal(this.subject, kind, sizes[kind]) };
  }

  /** It counts texts, and an answer without one is small enough. */
  override unreadAnswer(): null {
    return null;
  }

  #answer({ kind, choice }: AnswerTextPlace): TextFilter | null {
    if (!this.reads(kind)) return null;
    const sum = this.#answers.get(choice) ?? { chars: 0, bytes: 0 };
    this.#answers.set(choice, sum);
    // A part ends before the next text, since that holds nothing back.
    let noted: number[] = [];
    let ends: readonly number[] = [];
    const push = (text: string) => {
      [ends, noted] = [noted, []];
      sum.chars += text.length;
      sum.bytes += Buffer.byteLength(text);
      const sizes = { chars: sum.chars, tokens: estimatedTokens(sum.bytes) };
      const [size] = tooLarge(this.guard.config, sizes);
      if (size !== 'chars' && size !== 'tokens') return text;
      if (!this.#found.has(choice)) this.#count(1);
      this.#found.add(choice);
      const isEnd = this.enforces && this.guard.config.action === 'block';
      return isEnd ? this.#refusal('the answer', size, sizes[size]) : text;
    };
    const end = () => {
      ends = [];
      return '';
    };
    const endPart = () => void noted.push(0);
    const filter = { push, end, hides: () => false, endPart, partEnds: () => ends, resumed: (): TextFilter => filter };
    return filter;
  }

  #refusal(what: string, kind: SizeKind, size: number): Failure {
    const { name, config } = this.guard;
    // An answer has not ended yet.
    const has = what === 'the answer' ? '' : `it has ${size} ${kind}, and `;
    return blocked(name, what, `${has}the most are ${config.limits?.[kind]} ${kind}`);
  }

  #count(findings: number): void {
    this.count(didOf[this.guard.config.action], findings);
  }
}

const didOf = { block: 'blocked', mask: 'blocked', flag: 'flagged', route: 'routed' } as const;
