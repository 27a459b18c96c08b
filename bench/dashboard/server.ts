import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';

export const adminKey = 'sk-cv-admin-of-the-bench-0001';

/** Of the account that chats are measured with. */
export const benchKey = 'sk-cv-of-the-bench-000000000001';

export interface Server {
  url: string;
  /** A path below /admin/v1; throws unless it answers 200. */
  get(path: string): Promise<unknown>;
  stop(): Promise<void>;
}

const readyWaitMs = 120_000;

/** The gateway in a process of its own. */
export async function startServer(config: string): Promise<Server> {
  const port = await freePort();
  const entry = fileURLToPath(new URL('../../bin/culvert.mjs', import.meta.url));
  const args = [entry, 'start', '--config', config, '--host', '127.0.0.1', '--port', String(port)];
  const child: ChildProcess = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  process.on('exit', () => child.kill('SIGKILL'));
  const get = async (path: string): Promise<unknown> => {
    const answer = await fetch(`http://127.0.0.1:${port}/admin/v1${path}`, {
      headers: { authorization: `Bearer ${adminKey}` },
    });
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${text.slice(0, 300)}`);
    return answer.headers.get('content-type')?.includes('json') ? JSON.parse(text) : text;
  };
  const untilMs = performance.now() + readyWaitMs;
  for (;;) {
    try {
      await get('/health');
      break;
    } catch (error) {
      if (performance.now() > untilMs || child.exitCode !== null) throw error;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
  return {
    url: `http://127.0.0.1:${port}`,
    get,
    async stop() {
      if (child.exitCode === null) {
        child.kill('SIGTERM');
        await once(child, 'exit');
      }
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
