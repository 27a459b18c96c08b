import type { PictureSizes } from '../../../books/metering/storage/picture-sizes.ts';
import { type DrawnType, pictureEnding } from '../../../formats/media/images/picture-type.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { type FileStore, fileName, type OpenedFile } from '../../../kernel/file-store.ts';
import { randomBase62 } from '../../../kernel/ids.ts';
import type { Signer } from '../../../kernel/sign.ts';

/** Images that are served without a key to everybody with their link, for an hour (design §6). */
export interface HostedFiles {
  /** Keeps it for `account`; the URL below `base` (no slash at its end) that opens it. */
  host(account: string, picture: { type: DrawnType; content: Uint8Array }, base: string): Promise<string>;
  /** Content behind a link; null when it is forged or expired, or the file is gone: nobody learns which. */
  open(name: string, expires: string, signature: string): Promise<HostedFile | null>;
  /** Removes what no link opens any more. */
  sweep(): Promise<number>;
  /** Trouble of the file store; null: none. */
  trouble(): string | null;
}

export interface HostedFile extends OpenedFile {
  type: DrawnType;
  /** Whole seconds that the link still opens it for. */
  leftS: number;
}

/** How long a link opens its file. */
export const hostedForMs = 3_600_000;
export const hostedPath = '/v1/files-signed';
const idChars = 32;

export function createHostedFiles(parts: {
  store: FileStore;
  sizes(): Promise<PictureSizes>;
  signer: Signer;
  clock: Clock;
}): HostedFiles {
  const { store, sizes, clock, signer } = parts;
  return {
    async host(account, { type, content }, base) {
      const nowMs = clock.wallMs();
      const name = fileName(randomBase62(idChars), pictureEnding[type]);
      const untilMs = nowMs + hostedForMs;
      await (await sizes()).add({ account, bytes: content.length, nowMs, untilMs });
      await store.put(name, content, nowMs);
      const expires = String(Math.ceil(untilMs / 1_000));
      return `${base}${hostedPath}/${name}?exp=${expires}&sig=${signer.sign(signedText(name, expires))}`;
    },
    async open(name, expires, signature) {
      if (!signer.isSigned(signedText(name, expires), signature)) return null;
      const leftS = Math.floor(Number(expires) - clock.wallMs() / 1_000);
      const type = typeByEnding.get(name.slice(name.lastIndexOf('.') + 1));
      if (leftS < 0 || type === undefined) return null;
      const opened = await store.open(name);
      return opened === null ? null : { ...opened, type, leftS };
    },
    sweep: () => store.sweep(clock.wallMs() - hostedForMs),
    trouble: store.trouble,
  };
}

const typeByEnding = new Map(Object.entries(pictureEnding).map(([type, ending]) => [ending, type as DrawnType]));

function signedText(name: string, expires: string): string {
  return `${name}\n${expires}`;
}
