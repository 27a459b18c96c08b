import type { GuardConfig } from '../../config/schema.ts';
import type { TextKind, Texts } from '../../formats/neutral/json-texts.ts';
import type { Failure } from '../../kernel/failure.ts';
import { cannotRead, type Unreadable, unanswered } from './guard-failures.ts';
import type { GuardReport } from './guard-report.ts';
import type { MaskBook } from './mask-book.ts';

/** Names in the ledger of endpoints whose answers are pictures, speech or videos. */
const textlessEndpoints: ReadonlySet<string> = new Set([
  'image',
  'image-edit',
  'image-variation',
  'speech',
  'video',
  'video-remix',
]);

/** Name of the endpoint whose answers are pages that are stored, and not sent. */
const crawledPages = 'crawl-page';

/** Names in the ledger of endpoints whose answers no guard reads. */
export const unreadEndpoints: ReadonlySet<string> = new Set([...textlessEndpoints, crawledPages]);

/** One configured guard, whatever it looks for. */
export interface GuardRule {
  name: string;
  config: GuardConfig;
  /** Null: it reads all parts. */
  parts: ReadonlySet<string> | null;
  /** Counts verdicts for the metrics. */
  countVerdict(guard: string, verdict: string): void;
}

/** A guard over one request and its answer, with what it says of them. */
export class RunningGuard<R extends GuardRule = GuardRule> {
  protected readonly guard: R;
  protected readonly enforces: boolean;
  readonly report: GuardReport;
  /** Its object, for messages. */
  subject: 'the request' | 'what a tool of this server brings' = 'the request';

  constructor(guard: R) {
    this.guard = guard;
    this.enforces = guard.config.mode === 'enforce';
    this.report = { name: guard.name, did: null, count: 0, observes: !this.enforces, read: 0, unread: 0 };
  }

  /** Whether it is the first that masks the request. It alone gives values back: what it gives back may look like a word. */
  protected masksFirst(book: MaskBook): boolean {
    const { action, on } = this.guard.config;
    return action === 'mask' && this.enforces && on.includes('input') && book.claim();
  }

  /** `names`: as of a part of a request. */
  protected reads(kind: TextKind, names?: TextKind): boolean {
    const read = names ?? kind;
    return read !== 'label' && (this.guard.parts?.has(read) ?? true);
  }

  /** Parts of a request that it cannot read. Tokens are a text of the user. */
  protected unreadIn({ unread }: Texts): number {
    return unread.filter(({ kind }) => kind !== 'tokens' || this.reads('user')).length;
  }

  protected count(did: NonNullable<GuardReport['did']>, findings: number): void {
    if (this.report.did !== 'unanswered') this.report.did = did;
    this.report.count += findings;
    this.guard.countVerdict(this.guard.name, this.enforces ? did : `would-be-${did}`);
  }

  /** So many parts that it cannot read; null: they go on all the same. */
  protected unread(parts: number, what: Unreadable): Failure | null {
    const { name, config, countVerdict } = this.guard;
    this.report.unread += parts;
    countVerdict(name, 'unscanned');
    return config.on_error === 'deny' && this.enforces ? cannotRead(name, what) : null;
  }

  /** Counts the answer of an endpoint where it is no text that this guard has read; null: it goes on all the same. */
  unreadAnswer(endpoint: string): Failure | null {
    const { on, action, check } = this.guard.config;
    const looks = on.includes('output') && action !== 'route' && this.reads('assistant');
    // Speech says the text of its request.
    const isKnown = endpoint === 'speech' && on.includes('input') && check !== 'grounding' && this.reads('user');
    const what = endpoint === crawledPages ? 'pages of a crawl or a batch' : 'the answer of this request';
    return looks && !isKnown ? this.unread(1, what) : null;
  }

  /** Nobody gave a verdict; null: it goes on all the same. `why`: the failure where it does not. */
  protected unanswered(why: Failure = unanswered(this.guard.name)): Failure | null {
    const { name, config, countVerdict } = this.guard;
    countVerdict(name, 'unanswered');
    this.report.did = 'unanswered';
    this.report.count += 1;
    return config.on_error === 'deny' && this.enforces ? why : null;
  }
}
