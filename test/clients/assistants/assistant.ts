import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { snippetsOf } from '../../docs/snippets.ts';
import { startGateway, type TestGateway, testKey } from '../../start-gateway.ts';
import { type Lifetime, temporaryFolder } from '../../start-process.ts';
import { startUpstream, type Upstream } from '../../start-upstream.ts';

/** Where `npm run setup:assistants` puts them. */
const bin = fileURLToPath(new URL('../../../.test-tools/assistants/node_modules/.bin', import.meta.url));

/** The name by which a test is skipped where the program is missing, or false. */
export function missingAssistant(program: string): string | false {
  return existsSync(join(bin, program)) ? false : `${program} is not installed (npm run setup:assistants)`;
}

/** The MCP server of the tests as a program, for the assistant's settings. The simulator searches for `mock`, so a tool is named so. */
export const mcpServer = {
  command: process.execPath,
  args: [fileURLToPath(new URL('../../mcp-stdio-server.ts', import.meta.url)), 'mock'],
};

export interface Ran {
  code: number | null;
  stdout: string;
  /** Both outputs, for messages. */
  said: string;
}

/** An assistant with a home and a project of its own, which reaches only this machine. */
export interface Assistant {
  /** Writes a file into its home, or with `project/` before it into its project. */
  write(path: string, text: string): void;
  /** Runs it to its end. */
  run(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ran>;
  /** Begins to run it; whoever does ends it. */
  begin(args: readonly string[], env?: Readonly<Record<string, string>>): { child: ChildProcess; ran: Promise<Ran> };
}

export function assistant(t: Lifetime, program: string): Assistant {
  const home = temporaryFolder(t);
  const project = join(home, 'project');
  mkdirSync(join(project, '.git'), { recursive: true });

  function begin(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    const child = spawn(join(bin, program), args, {
      cwd: project,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 120_000,
      killSignal: 'SIGKILL',
      env: {
        PATH: `${dirname(process.execPath)}:${process.env.PATH ?? ''}`,
        HOME: home,
        NO_PROXY: '127.0.0.1',
        // Nothing listens there.
        HTTPS_PROXY: 'http://127.0.0.1:9',
        CULVERT_API_KEY: testKey,
        ...env,
      },
    });
    t.after(() => child.kill('SIGKILL'));
    let stdout = '';
    let said = '';
    child.stdout.on('data', (chunk) => {
      stdout += String(chunk);
      said += String(chunk);
    });
    child.stderr.on('data', (chunk) => {
      said += String(chunk);
    });
    const ran = new Promise<Ran>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code) => resolve({ code, stdout, said }));
    });
    return { child, ran };
  }

  return {
    write(path, text) {
      const file = join(home, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    },
    run: (args, env) => begin(args, env).ran,
    begin,
  };
}

/** The file that a page tells to write, for this gateway and its test key. */
export function settingsIn(page: string, language: string, gateway: Pick<TestGateway, 'url'>): string {
  const { text } = snippetsOf(`docs/${page}`).find((snippet) => snippet.language === language)!;
  return text.replaceAll('http://127.0.0.1:4141', gateway.url).replaceAll('sk-cv-…', testKey);
}

/** Without any provider: what a newcomer has. */
export function keyless(t: Lifetime): Promise<TestGateway> {
  return startGateway(t);
}

/** Every model of theirs over one upstream of a format. */
export async function overUpstream(
  t: Lifetime,
  format: 'openai' | 'anthropic' = 'openai',
): Promise<{ gateway: TestGateway; upstream: Upstream }> {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    providers: { up: { type: format, base_url: `${upstream.url}/v1`, api_key: 'k' } },
    models: { '*': { targets: ['up/mock/ok'] } },
  });
  await gateway.modelsKnown;
  return { gateway, upstream };
}

/** Ends it in the middle of a long answer, as Ctrl-C does; resolves when the provider's connection is closed. */
export async function abortedThrough(
  { upstream }: { upstream: Upstream },
  begin: () => ReturnType<Assistant['begin']>,
): Promise<void> {
  upstream.clear();
  upstream.script('*', ['always tokens=2000;interval=50ms']);
  const { child, ran } = begin();
  await Promise.race([
    upstream.when(({ method }) => method === 'POST'),
    ran.then(({ said }) => Promise.reject(new Error(`it ended by itself: ${said}`))),
  ]);
  child.kill('SIGTERM');
  await upstream.when(({ aborted }) => aborted);
}
