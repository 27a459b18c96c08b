import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  answers,
  freePort,
  type Subject,
  scratchFolder,
  startCulvert,
  startPinned,
  stopped,
  systemNode,
} from '../gateway/processes.ts';

/** A gateway that can be measured beside ours. */
export interface Peer {
  name: string;
  /** The installed version; null: it is not installed, and `install` says how. */
  version: string | null;
  install: string;
  start(upstreamPort: number): Promise<Subject>;
}

/** A start of LiteLLM loads for some seconds. */
const startPatienceMs = 120_000;
const answersEveryMs = 20;
const folder = fileURLToPath(new URL('.', import.meta.url));
const litellmBin = join(folder, '.litellm', 'bin', 'litellm');

/** Key, every kind of limit, ledger in SQLite, metrics and a log line a request. */
export const culvert: Peer = {
  name: 'Culvert',
  version: '',
  install: '',
  start: (upstreamPort) => startCulvert({ upstreamPort }),
};

/** A key in its configuration, no database, its log off: less than Culvert does meanwhile. */
const litellm: Peer = {
  name: 'LiteLLM',
  version: existsSync(litellmBin) ? firstMatch(join(folder, 'requirements.txt'), /==(.+)/) : null,
  install:
    'python3 -m venv bench/peers/.litellm && bench/peers/.litellm/bin/pip install -r bench/peers/requirements.txt',
  async start(upstreamPort) {
    const port = await freePort();
    const config = join(scratchFolder(), 'litellm.yaml');
    const target = { model: 'openai/bench-model', api_base: `http://127.0.0.1:${upstreamPort}/v1`, api_key: 'up' };
    writeFileSync(
      config,
      JSON.stringify({
        model_list: [{ model_name: 'same', litellm_params: target }],
        general_settings: { master_key: 'sk-bench' },
        litellm_settings: { telemetry: false },
      }),
    );
    const child = startPinned(
      litellmBin,
      ['--config', config, '--port', String(port), '--host', '127.0.0.1'],
      'ignore',
      { LITELLM_LOCAL_MODEL_COST_MAP: 'True', LITELLM_LOG: 'ERROR' },
    );
    await answers(port, answersEveryMs, startPatienceMs);
    return {
      name: this.name,
      port,
      headers: { authorization: 'Bearer sk-bench' },
      pid: child.pid!,
      stop: () => stopped(child),
    };
  },
};

/** It has no keys, limits or ledger of its own: a request's headers say where it goes. */
const portkey: Peer = {
  name: 'Portkey',
  version: firstMatch(join(folder, 'node_modules', '@portkey-ai', 'gateway', 'package.json'), /"version": "([^"]+)"/),
  install: 'npm install --ignore-scripts --prefix bench/peers',
  async start(upstreamPort) {
    const script = join(folder, 'node_modules', '@portkey-ai', 'gateway', 'build', 'start-server.js');
    const port = await freePort();
    const child = startPinned(systemNode(), [script, `--port=${port}`, '--headless'], 'ignore');
    await answers(port, answersEveryMs);
    const headers = {
      authorization: 'Bearer upstream-key',
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `http://127.0.0.1:${upstreamPort}/v1`,
    };
    return { name: this.name, port, headers, pid: child.pid!, stop: () => stopped(child) };
  },
};

export const peers: readonly Peer[] = [litellm, portkey];

function firstMatch(file: string, pattern: RegExp): string | null {
  return existsSync(file) ? (pattern.exec(readFileSync(file, 'utf8'))?.[1] ?? null) : null;
}
