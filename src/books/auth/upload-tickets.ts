import { type Failure, unauthenticated } from '../../kernel/failure.ts';
import type { Sealer } from '../../kernel/seal.ts';
import type { CallerNote, LastingCallers } from './caller-note.ts';
import { type KeyHeaders, keyHeaders } from './key-ring.ts';
import type { Principal } from './principal.ts';

/**
 * Proof that an address belongs to an upload that a key began, since Google's clients send the bytes there without the
 * key. It opens this one upload, as long as the key works, from any address, and nothing else.
 */
export type UploadTickets = ReturnType<typeof createUploadTickets>;

/** Node takes 16 KB of headers. */
const lengthMax = 12_000;

const wrong = unauthenticated('The address of this upload is not valid. Begin the upload again, or send your key.');

export function createUploadTickets(sealer: Sealer, ring: LastingCallers) {
  const seal = (plain: string, upload: string) => sealer.seal(Buffer.from(plain), upload).toString('base64url');
  return {
    issue(keyId: string, upload: string): string {
      const note = ring.noteOf(keyId);
      const noted = note === null ? null : seal(JSON.stringify({ keyId, note }), upload);
      // Without its note it opens the upload in this process.
      return noted === null || noted.length > lengthMax ? seal(keyId, upload) : noted;
    },
    /** The key's owner, of a request without a key; null: it has one, or no ticket. */
    principal(headers: KeyHeaders, search: string): Principal | Failure | null {
      if (['authorization', ...keyHeaders].some((name) => headers[name] !== undefined)) return null;
      const query = new URLSearchParams(search);
      const [ticket, upload] = [query.get('upload_ticket'), query.get('upload_id')];
      if (ticket === null || upload === null) return null;
      const plain = ticket.length > lengthMax ? null : sealer.open(Buffer.from(ticket, 'base64url'), upload);
      if (plain === null) return wrong;
      const { keyId, note } = grantIn(plain.toString('utf8'));
      if (note !== undefined) ring.recall(note);
      return ring.principalOf(keyId);
    },
  };
}

/** No id of a key begins as an object does. */
function grantIn(text: string): { keyId: string; note?: CallerNote } {
  return text.startsWith('{') ? JSON.parse(text) : { keyId: text };
}
