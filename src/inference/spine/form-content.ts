import { createHash } from 'node:crypto';
import { dialects } from '../../formats/dialects/dialect-table.ts';
import { objectNotFound } from '../../formats/dialects/named-objects.ts';
import { membersOfForm } from '../../formats/media/form-members.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { SpooledFile } from '../../net/spool.ts';

/** A caller's form, its files on disk for as long as its request runs. */
export interface UploadedForm {
  fields: readonly { name: string; value: string }[];
  /** `param`: what errors call it, where it did not come in a form. */
  files: readonly { name: string; file: SpooledFile; param?: string }[];
}

/** Content that two equal forms have in common, without their boundaries and the order of their files and fields. */
export async function contentOfForm({ fields, files }: UploadedForm): Promise<Buffer> {
  const hashes: string[] = [];
  for (const { name, file } of files) {
    const hash = createHash('sha256');
    for await (const piece of file.read()) hash.update(piece);
    hashes.push(name, hash.digest('hex'));
  }
  return Buffer.from(JSON.stringify([fields.map(({ name, value }) => [name, value]), hashes]));
}

/**
 * A 404 for a form that names a file or another object at a provider, such as `file_id` or `images[0][file_id]`: fields
 * that Culvert does not know go on to the provider, under the credential of all callers.
 */
export function objectInForm({ fields }: Pick<UploadedForm, 'fields'>): Failure | null {
  const [named] = dialects['openai-chat'].objects.find(membersOfForm(fields));
  return named === undefined ? null : objectNotFound(named.field);
}
