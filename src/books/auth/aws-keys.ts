import { randomBytes } from 'node:crypto';
import type { Sealer } from '../../kernel/seal.ts';
import { never } from './key-directory.ts';

/** A pair with which AWS's clients sign requests (Signature Version 4). */
export interface AwsKeyPair {
  accessKeyId: string;
  secretAccessKey: string;
}

/** Contents of an access key id. */
export interface OpenedAwsKey {
  secretAccessKey: string;
  /** `hashKey` of a caller's secret: the pair opens what that secret opens, for as long. */
  hash: string;
  /** Wall-clock ms; Infinity: as long as the key. */
  expiresMs: number;
}

/**
 * Pairs for AWS's clients, which sign with a secret that never travels. A server that keeps keys as hashes cannot know
 * that secret, so each pair has its own: it is sealed in the access key id. Nothing is stored, every server with the
 * same secret knows it, and neither a copy of the database nor an id that a log shows is worth a signature.
 */
export type AwsKeys = ReturnType<typeof createAwsKeys>;

const prefix = 'CVAK';
const context = 'aws key';
const secretBytes = 24;
const hashBytes = 32;
const timeBytes = 6;
const lengthMax = 256;

export function createAwsKeys(sealer: Sealer) {
  return {
    issue({ hash, expiresMs }: Pick<OpenedAwsKey, 'hash' | 'expiresMs'>): AwsKeyPair {
      const secret = randomBytes(secretBytes);
      const until = Buffer.alloc(timeBytes);
      if (expiresMs !== never) until.writeUIntBE(expiresMs, 0, timeBytes);
      const sealed = sealer.seal(Buffer.concat([secret, Buffer.from(hash, 'hex'), until]), context);
      return { accessKeyId: prefix + sealed.toString('base64url'), secretAccessKey: secret.toString('base64url') };
    },
    /** Null: not one of ours. */
    open(accessKeyId: string): OpenedAwsKey | null {
      if (!accessKeyId.startsWith(prefix) || accessKeyId.length > lengthMax) return null;
      const plain = sealer.open(Buffer.from(accessKeyId.slice(prefix.length), 'base64url'), context);
      if (plain?.length !== secretBytes + hashBytes + timeBytes) return null;
      const expiresMs = plain.readUIntBE(secretBytes + hashBytes, timeBytes);
      return {
        secretAccessKey: plain.toString('base64url', 0, secretBytes),
        hash: plain.toString('hex', secretBytes, secretBytes + hashBytes),
        expiresMs: expiresMs === 0 ? never : expiresMs,
      };
    },
  };
}
