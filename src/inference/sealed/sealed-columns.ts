import type { BodyRow } from '../../books/metering/body-store.ts';
import type { SealAgain, SealedColumn, SealedContents } from '../../books/metering/sealed-columns.ts';
import { batchContext } from '../batches/batch-facts.ts';
import { resultContext } from '../batches/batch-parts.ts';
import { chunkName } from '../batches/file-contents.ts';
import { chunkBytes, sealedAs } from '../batches/stored-files.ts';
import { bodyContext } from '../endpoints/body-keeper.ts';
import { partContext } from '../families/responses/sealed-rows.ts';
import { thoughtMark } from '../families/responses/sealed-thoughts.ts';
import { textContext } from '../families/responses/stored-responses.ts';
import { compactionMark } from '../families/responses/summaries.ts';
import { factsContext } from '../vector-stores/store-facts.ts';

const responses = { file: 'responses.db', purpose: 'responses', inside: textsAgain } as const;
const files = { kind: 'files', file: 'batches.db', purpose: 'batches' } as const;
const batches = { ...files, kind: 'batches' } as const;
type Row = Readonly<Record<string, unknown>>;

const ownerOf = (row: Row) => ({ tenant: String(row.tenant), id: String(row.id) });

/**
 * Every column that `storage.secret` seals for long, in the order in which they are sealed anew. Left out are
 * credentials and logins, which have operations of their own, what lasts a day, and signatures of bodies: a search opens a body
 * whose signature it cannot open.
 */
const columns: readonly SealedColumn[] = [
  ...(['input', 'answer', 'events', 'metadata'] as const).map((column) => ({
    ...responses,
    table: column === 'metadata' ? 'conversation' : 'response',
    key: ['tenant', 'id'],
    column,
    kind: column === 'metadata' ? 'conversations' : 'responses',
    sparse: column === 'events',
    contextOf: (row: Row) => partContext(String(row.tenant), String(row.id), column),
  })),
  {
    ...responses,
    kind: 'conversations',
    table: 'conversation_item',
    column: 'item',
    key: ['tenant', 'conversation', 'seq'],
    also: ['id'],
    contextOf: (row) => partContext(String(row.tenant), `${row.conversation} ${row.id}`, 'item'),
  },
  {
    ...files,
    table: 'stored_file',
    key: ['id'],
    column: 'facts',
    also: ['tenant'],
    contextOf: (row) => sealedAs(ownerOf(row), 'name'),
  },
  {
    ...files,
    table: 'file_chunk',
    key: ['file', 'seq'],
    column: 'content',
    also: ['(SELECT tenant FROM @stored_file WHERE id = file_chunk.file) AS tenant'],
    contextOf: (row) => sealedAs({ tenant: String(row.tenant), id: String(row.file) }, Number(row.seq)),
  },
  { ...batches, table: 'batch', key: ['id'], column: 'facts', contextOf: ({ id }) => batchContext(String(id)) },
  {
    ...batches,
    table: 'batch_line',
    key: ['batch', 'seq'],
    column: 'result',
    sparse: true,
    also: ['(SELECT tenant FROM @batch WHERE id = batch_line.batch) AS tenant'],
    contextOf: (row) => resultContext({ tenant: String(row.tenant), id: String(row.batch) }, Number(row.seq)),
  },
  ...['vector_store', 'vector_store_file'].map((table) => ({
    kind: 'vector stores',
    file: 'vector-stores.db',
    purpose: 'vector stores',
    table,
    column: 'facts',
    key: ['id'],
    also: ['tenant'],
    contextOf: (row: Row) => factsContext(ownerOf(row)),
  })),
  {
    kind: 'kept bodies',
    file: 'bodies.db',
    purpose: 'bodies',
    table: 'kept_body',
    column: 'sealed',
    key: ['request_id'],
    also: ['request_id AS "requestId"', 'at_ms AS "atMs"', 'account', 'key_id AS "keyId"', 'model', 'path', 'status'],
    contextOf: (row) => bodyContext(row as Row & Omit<BodyRow, 'sealed'>),
  },
];

const marks = [thoughtMark, compactionMark].map((mark) => mark.replaceAll('.', '\\.')).join('|');
const sealedText = new RegExp(`("encrypted_content":"(?:${marks}))([\\w-]+)`, 'g');

/** Summaries and thoughts in a kept answer are sealed for themselves: a later request brings them back. */
function textsAgain(plain: Buffer, { tenant }: Row, seal: SealAgain): Buffer {
  if (!plain.includes('"encrypted_content":"culvert.')) return plain;
  const text = plain.toString('utf8');
  const again = text.replace(sealedText, (whole, begin: string, sealed: string) => {
    const bytes = seal(Buffer.from(sealed, 'base64url'), textContext(String(tenant)));
    // Null for one that a client has made up, or that was lost before.
    return bytes === null ? whole : begin + Buffer.from(bytes).toString('base64url');
  });
  return again === text ? plain : Buffer.from(again);
}

const contents: SealedContents = { purpose: 'batches', chunkBytes, nameOf: chunkName, contextOf: sealedAs };

/** All that `storage.secret` seals in the stores. */
export const sealed = { columns, contents };
