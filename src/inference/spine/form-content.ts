import { createHash } from 'node:crypto';
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
