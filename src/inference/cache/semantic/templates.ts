import { hash } from 'node:crypto';
import type { CacheEntry, CacheStore } from '../../../books/metering/cache-store.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { putNewest } from '../../../kernel/put-newest.ts';
import { withinMs } from '../../../kernel/within-ms.ts';
import type { CacheKey } from '../cache-key.ts';
import { lookMsMax } from '../look-up.ts';
import { learnTemplate, learntFrom, type QuestionTemplate } from './question-template.ts';

/** Filters whose questions are in memory, the one used last at the end. */
const filtersMax = 2_000;
const retentionMs = 30 * 86_400_000;

interface TemplateQuestion {
  filter: CacheKey;
  text: string;
  row: Pick<CacheEntry, 'keyId' | 'model' | 'tag'>;
}

type Known = { texts: Map<string, string> } | { template: QuestionTemplate | null };

/** The templates of filters: learnt from the first questions that this process sees, then kept in the store, so that a restart has them. */
export class Templates {
  readonly #store: CacheStore;
  readonly #clock: Pick<Clock, 'wallMs'>;
  readonly #known = new Map<string, Known>();

  constructor(store: CacheStore, clock: Pick<Clock, 'wallMs'>) {
    this.#store = store;
    this.#clock = clock;
  }

  /** `parts`: digest of the question's deciding parts. Null: there is none, or none yet. Never rejects. */
  async of({ filter, text, row }: TemplateQuestion, parts: string): Promise<QuestionTemplate | null> {
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
