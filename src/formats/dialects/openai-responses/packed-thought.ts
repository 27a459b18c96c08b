/**
 * Another vendor's proof over a thought, inside `encrypted_content`: callers send reasoning items back unchanged, so
 * the proof finds its way home. Content of another form is the Responses provider's own.
 */
export interface PackedThought {
  /** The proof over the item's text; a thought that nobody may read; the proof of the call after it. */
  kind: 'signed' | 'redacted' | 'call';
  vendor: string;
  proof: string;
}

const letters = { signed: 's', redacted: 'r', call: 'c' } as const satisfies Record<PackedThought['kind'], string>;
const form = /^culvert\.([src])\.([a-z-]{1,32})\./;

export function packThought({ kind, vendor, proof }: PackedThought): string {
  return `culvert.${letters[kind]}.${vendor}.${proof}`;
}

/** Null for what a Responses provider encrypted itself. */
export function unpackThought(encrypted: string): PackedThought | null {
  const [head = '', letter, vendor] = form.exec(encrypted) ?? [];
  if (vendor === undefined) return null;
  const kind = letter === 's' ? 'signed' : letter === 'r' ? 'redacted' : 'call';
  return { kind, vendor, proof: encrypted.slice(head.length) };
}
