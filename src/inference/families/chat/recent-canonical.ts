import { hash } from 'node:crypto';
import type { CallerDialectId } from '../../../formats/dialects/dialect.ts';
import type { Canonical } from '../../models/steps.ts';

/** The inputs of a canonical form. */
export interface CanonicalOrder {
  raw: Buffer;
  dialect: CallerDialectId;
  part: 'question' | undefined;
}

interface Known extends Omit<CanonicalOrder, 'raw'> {
  digest: string;
  canonical: Canonical;
}

const slots = 1_024;
/** Larger bodies are read anew: a digest of them costs as much time as it spares others. */
const bodyBytesMax = 64 * 1024;
/** A longer question is not kept. */
const questionCharsMax = 4_096;

/**
 * Canonical forms of bodies that came at least twice, by the digest (SHA-256) of their bytes: an equal body has an equal
 * form, and the digest costs a tenth of it. A body that comes once leaves a number and no object, because objects of
 * requests that miss would outlive them.
 */
export class RecentCanonicals {
  readonly #known = new Array<Known | null>(slots).fill(null);
  /** 48 bits of the digest that came last to each slot. */
  readonly #seen = new Float64Array(slots);

  /** The form of a body; `read` makes it where it is not known. */
  of({ raw, dialect, part }: CanonicalOrder, read: () => Canonical): Canonical {
    if (raw.length > bodyBytesMax) return read();
    const digest = hash('sha256', raw, 'hex');
    const slot = Number.parseInt(digest.slice(0, 3), 16) % slots;
    const known = this.#known[slot];
    if (known?.digest === digest && known.dialect === dialect && known.part === part) return known.canonical;
    const canonical = read();
    const mark = Number.parseInt(digest.slice(3, 15), 16);
    const isAgain = this.#seen[slot] === mark;
    this.#seen[slot] = mark;
    const isShort = (canonical.question?.text.length ?? 0) <= questionCharsMax;
    if (isAgain && isShort) this.#known[slot] = { digest, dialect, part, canonical };
    return canonical;
  }
}
