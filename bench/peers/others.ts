import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { answers, freePort, systemNode } from '../gateway/processes.ts';
import { bearer, benchKey, type Gateway, launched, programIn, said, upstreamModel, written } from './gateway.ts';

const busbarKeeps = {
  keys: 'a key that its admin API signed, no limits and no ledger: its store is memory',
  nothing: 'no key, no limits, no ledger',
};

/** A key doubles what a request costs it, so it is measured with and without. */
function busbar(name: string, keeps: keyof typeof busbarKeeps): Gateway {
  return {
    name,
    keeps: busbarKeeps[keeps],
    get: 'a release of GetBusbar/busbar on GitHub, as FOLDER/busbar',
    manyCores: 'advanced.worker_threads',
    find: (folder) => programIn(folder, 'busbar'),
    version: (program) => said(program, '--version'),
    async start(order) {
      const adminPort = await freePort();
      const running = await launched(name, order, ({ port, folder }) => {
        const upstream = { protocol: 'openai', base_url: `http://127.0.0.1:${order.upstreamPort}` };
        const signingKey = join(folder, 'signing.key');
        writeFileSync(signingKey, randomBytes(32).toString('hex'), { mode: 0o600 });
        const chain = keeps === 'keys' ? ['keys'] : [];
        const config = written(folder, 'config.yaml', {
          listen: `127.0.0.1:${port}`,
          admin_listen: `127.0.0.1:${adminPort}`,
          providers_file: written(folder, 'providers.yaml', { bench: upstream }),
          'identity-providers': { 'admin-tokens': { module: 'admin-tokens', token: { env: 'BENCH_ADMIN' } } },
          auth: { chain, admin_auth: ['admin-tokens'], signing_key: { file: signingKey } },
          groups: { bench: { limits: [] } },
          providers: { bench: { api_key: { env: 'BENCH_UPSTREAM' } } },
          models: { same: { provider: 'bench', upstream_model: upstreamModel } },
          advanced: { worker_threads: order.workers },
        });
        const env = { BUSBAR_CONFIG: config, BENCH_UPSTREAM: 'upstream-key', BENCH_ADMIN: benchKey, RUST_LOG: 'error' };
        return { args: [], env, model: 'same' };
      });
      return keeps === 'keys' ? { ...running, headers: await signedKey(adminPort) } : running;
    },
  };
}

async function signedKey(adminPort: number): Promise<Record<string, string>> {
  await answers(adminPort);
  const signed = await fetch(`http://127.0.0.1:${adminPort}/api/v1/admin/keys`, {
    method: 'POST',
    headers: { ...bearer, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'bench', group: 'bench', expires_in: '1d' }),
  });
  const { token } = (await signed.json()) as { token: string };
  return { authorization: `Bearer ${token}` };
}

const agentgateway: Gateway = {
  name: 'agentgateway',
  keeps: 'a key in its configuration, no ledger',
  get: 'a release of agentgateway/agentgateway on GitHub, as FOLDER/agentgateway',
  manyCores: 'config.workerThreads',
  find: (folder) => programIn(folder, 'agentgateway'),
  version: (program) => said(program, '--version'),
  start: (order) =>
    launched(agentgateway.name, order, ({ port, folder }) => {
      const params = {
        model: upstreamModel,
        apiKey: 'upstream-key',
        baseUrl: `http://127.0.0.1:${order.upstreamPort}/v1`,
      };
      const config = written(folder, 'config.yaml', {
        config: { workerThreads: order.workers, adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off' },
        llm: {
          port,
          policies: { apiKey: { mode: 'strict', keys: [{ key: benchKey }] } },
          models: [{ name: 'same', provider: 'openAI', params }],
        },
      });
      return { args: ['-f', config], env: { RUST_LOG: 'error' }, headers: bearer, model: 'same' };
    }),
};

const gomodel: Gateway = {
  name: 'GoModel',
  keeps: 'one key, usage in SQLite every 5 s, no limits and no audit log',
  get: 'a release of ENTERPILOT/GoModel on GitHub, as FOLDER/gomodel',
  manyCores: 'GOMAXPROCS',
  find: (folder) => programIn(folder, 'gomodel'),
  version: (program) => said(program, '--version'),
  start: (order) =>
    launched(gomodel.name, order, ({ port, folder }) => ({
      args: [],
      env: {
        PORT: String(port),
        GOMAXPROCS: String(order.workers),
        GOMODEL_MASTER_KEY: benchKey,
        OPENAI_BASE_URL: `http://127.0.0.1:${order.upstreamPort}/v1`,
        OPENAI_API_KEY: 'upstream-key',
        // It asks another host for prices otherwise.
        MODEL_LIST_URL: '',
        GOMODEL_CACHE_DIR: join(folder, 'cache'),
        SQLITE_PATH: join(folder, 'gomodel.db'),
        LOG_LEVEL: 'error',
      },
      headers: bearer,
      model: `openai/${upstreamModel}`,
    })),
};

const bifrost: Gateway = {
  name: 'Bifrost',
  keeps: 'no key, no ledger: its stores are off',
  get: 'a release of maximhq/bifrost on GitHub, as FOLDER/bifrost-http',
  manyCores: 'GOMAXPROCS',
  find: (folder) => programIn(folder, 'bifrost-http', 'bifrost'),
  // It prints its version in the banner of a start alone.
  version: () => 'of unknown version',
  start: (order) =>
    launched(bifrost.name, order, ({ port, folder }) => {
      written(folder, 'config.json', {
        config_store: { enabled: false },
        logs_store: { enabled: false },
        providers: {
          openai: {
            keys: [{ name: 'bench', value: 'upstream-key', models: [upstreamModel], weight: 1 }],
            network_config: { base_url: `http://127.0.0.1:${order.upstreamPort}` },
          },
        },
      });
      return {
        args: ['-app-dir', folder, '-host', '127.0.0.1', '-port', String(port), '-log-level', 'error'],
        env: { GOMAXPROCS: String(order.workers) },
        model: `openai/${upstreamModel}`,
      };
    }),
};

const kong: Gateway = {
  name: 'Kong',
  keeps: 'a key (key-auth), no limits and no ledger; ai-proxy without a database',
  get: 'the package kong of the vendor, with FOLDER/kong a link to its program',
  manyCores: 'KONG_NGINX_WORKER_PROCESSES',
  find: (folder) => programIn(folder, 'kong'),
  version: (program) => said(program, 'version'),
  start: (order) =>
    launched(kong.name, order, ({ port, folder }) => {
      const model = {
        provider: 'openai',
        name: upstreamModel,
        options: { upstream_url: `http://127.0.0.1:${order.upstreamPort}/v1/chat/completions` },
      };
      const auth = { header_name: 'Authorization', header_value: 'Bearer upstream-key' };
      const plugins = [{ name: 'key-auth' }, { name: 'ai-proxy', config: { route_type: 'llm/v1/chat', auth, model } }];
      const route = { name: 'chat', paths: ['/v1/chat/completions'], strip_path: false, plugins };
      const config = written(folder, 'kong.json', {
        _format_version: '3.0',
        // The plugin says where a request really goes.
        services: [{ name: 'models', url: 'http://127.0.0.1:1', routes: [route] }],
        consumers: [{ username: 'bench', keyauth_credentials: [{ key: benchKey }] }],
      });
      const env = {
        KONG_DATABASE: 'off',
        KONG_DECLARATIVE_CONFIG: config,
        KONG_PREFIX: join(folder, 'prefix'),
        KONG_PROXY_LISTEN: `127.0.0.1:${port}`,
        KONG_ADMIN_LISTEN: 'off',
        KONG_NGINX_DAEMON: 'off',
        KONG_NGINX_WORKER_PROCESSES: String(order.workers),
        KONG_PROXY_ACCESS_LOG: 'off',
        KONG_ANONYMOUS_REPORTS: 'off',
      };
      return { args: ['start'], env, headers: { apikey: benchKey }, model: upstreamModel };
    }),
};

const litellm: Gateway = {
  name: 'LiteLLM',
  keeps: 'a key in its configuration, no database and no log',
  get: 'python3 -m venv FOLDER/litellm && FOLDER/litellm/bin/pip install -r bench/peers/requirements.txt',
  manyCores: '--num_workers',
  find: (folder) => programIn(folder, 'litellm'),
  version: (program) => said(program, '--version'),
  start: (order) =>
    launched(litellm.name, order, ({ port, folder }) => {
      const config = written(folder, 'litellm.yaml', {
        model_list: [
          {
            model_name: 'same',
            litellm_params: {
              model: `openai/${upstreamModel}`,
              api_base: `http://127.0.0.1:${order.upstreamPort}/v1`,
              api_key: 'upstream-key',
            },
          },
        ],
        general_settings: { master_key: benchKey },
        litellm_settings: { telemetry: false },
      });
      const where = ['--config', config, '--port', String(port), '--host', '127.0.0.1'];
      return {
        args: [...where, '--num_workers', String(order.workers)],
        env: { LITELLM_LOCAL_MODEL_COST_MAP: 'True', LITELLM_LOG: 'ERROR' },
        headers: bearer,
        model: 'same',
      };
    }),
};

const portkeyPackage = join('node_modules', '@portkey-ai', 'gateway');

const portkey: Gateway = {
  name: 'Portkey',
  keeps: 'no key, no limits, no ledger: headers of a request say where it goes',
  get: 'cp bench/peers/package.json FOLDER && npm install --ignore-scripts --prefix FOLDER',
  manyCores: null,
  find(folder) {
    const places = [folder, join(folder, 'portkey')].map((place) => join(place, portkeyPackage));
    return places.find((place) => existsSync(join(place, 'build', 'start-server.js'))) ?? null;
  },
  version: (program) => JSON.parse(readFileSync(join(program, 'package.json'), 'utf8')).version,
  start: (order) =>
    launched(portkey.name, order, ({ port }) => ({
      command: systemNode(),
      args: [join(order.program, 'build', 'start-server.js'), `--port=${port}`, '--headless'],
      headers: {
        authorization: 'Bearer upstream-key',
        'x-portkey-provider': 'openai',
        'x-portkey-custom-host': `http://127.0.0.1:${order.upstreamPort}/v1`,
      },
      model: 'same',
    })),
};

/** Each with the least configuration that serves, and a key where its configuration can have one. */
export const others: readonly Gateway[] = [
  busbar('Busbar', 'nothing'),
  busbar('Busbar-keys', 'keys'),
  ...[agentgateway, gomodel, bifrost, kong, litellm, portkey],
];
