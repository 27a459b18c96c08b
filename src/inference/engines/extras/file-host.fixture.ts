import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export const fixtureCommit = '0123456789abcdef0123456789abcdef01234567';

export interface FileHost {
  url: string;
  /** `GET /repo/… bytes=5-`, as they came. */
  requests: string[];
  close(): Promise<void>;
}

export interface FileHostOptions {
  /** Content by path below the host; undefined: 404. */
  content(path: string): Buffer | undefined;
  /** Bytes after which the connection is cut, for the nth GET of a file (from 0). Undefined: it is not. */
  cutAfter?(path: string, nth: number): number | undefined;
  /** Headers of its files: the hub's own, or those of any file server. */
  says?: 'checksums' | 'nothing' | 'wrong checksums';
}

/** A model host on this machine: the hub's paths and headers, files that tests give. */
export async function startFileHost(options: FileHostOptions): Promise<FileHost> {
  const requests: string[] = [];
  const gets = new Map<string, number>();
  const server = createServer((request, response) => {
    const path = request.url!;
    requests.push([request.method, path, request.headers.range].filter(Boolean).join(' '));
    // At a branch and at its commit there is the same.
    const content = options.content(path.replace(/\/resolve\/[^/]+\//, '/resolve/main/'));
    if (content === undefined) return response.writeHead(404).end();
    const headers = { ...tagsOf(content, path, options.says ?? 'checksums'), 'accept-ranges': 'bytes' };
    if (request.method === 'HEAD')
      return response.writeHead(200, { ...headers, 'content-length': content.length }).end();
    const from = rangeOf(request);
    if (from >= content.length) return response.writeHead(416).end();
    const nth = gets.get(path) ?? 0;
    gets.set(path, nth + 1);
    const rest = content.subarray(from);
    response.writeHead(from > 0 ? 206 : 200, { ...headers, 'content-length': rest.length });
    const cut = options.cutAfter?.(path, nth);
    if (cut === undefined) return response.end(rest);
    response.write(rest.subarray(0, cut), () => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function rangeOf(request: IncomingMessage): number {
  return Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
}

function tagsOf(content: Buffer, path: string, says: FileHostOptions['says']): Record<string, string> {
  if (says === 'nothing') return {};
  const hashed = says === 'wrong checksums' ? Buffer.from('something else') : content;
  const commit = { 'x-repo-commit': fixtureCommit };
  // Large files are known by their SHA-256, the others by git's hash.
  if (path.endsWith('.onnx')) {
    const sha256 = createHash('sha256').update(hashed).digest('hex');
    return { ...commit, 'x-linked-etag': `"${sha256}"`, 'x-linked-size': String(content.length) };
  }
  return { ...commit, etag: `"${createHash('sha1').update(`blob ${hashed.length}\0`).update(hashed).digest('hex')}"` };
}
