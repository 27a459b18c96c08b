import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { fakeClock } from '../../../test/fake-clock.ts';
import { serverPrincipal } from '../../books/auth/principal.ts';
import { createPlanBook } from '../../books/metering/plan-book.ts';
import { type Config, configSchema } from '../../config/schema.ts';
import { createHealth } from '../../routing/health.ts';
import type { UpstreamObserver, UpstreamRequest } from '../../upstream/transport/upstream-call.ts';
import { keepSnapshot } from './keep-snapshot.ts';
import type { ScopedStep } from './steps.ts';

const providers = { up: { type: 'openai', base_url: 'http://127.0.0.1:9/v1', api_key: 'k' } };
const configOf = (model: string) => configSchema.parse({ providers, models: { [model]: { targets: ['up/m'] } } });
const [earlier, later] = [configOf('earlier'), configOf('later')];
const stepOf = (): ScopedStep => ({ step: { begin: () => null }, on: 'server' });

/** A keeper of `earlier`, whose provider gives no list of models. */
async function keep(t: TestContext, stepsOf: (config: Config) => Promise<readonly ScopedStep[]>) {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const clock = fakeClock();
  const keeper = await keepSnapshot({
    config: earlier,
    env: {},
    locals: [],
    models: { recall: () => null, keep() {} },
    prices: { name: 'none', read: () => undefined, write() {}, writtenMs: () => 0 },
    lookForEngines: () => ({ embedding: new Map(), speech: new Map(), transcription: new Map() }),
    startSimulator: async () => ({ url: 'http://127.0.0.1:9', close: async () => {} }),
    plans: () => createPlanBook({ config: earlier, stored: [] }),
    stepsOf,
    transport: {
      send(_: UpstreamRequest, observer: UpstreamObserver) {
        queueMicrotask(() => observer.failed({ kind: 'reset', message: 'reset' }));
        return { abort() {}, pause() {}, resume() {} };
      },
    } as never,
    health: createHealth({ clock }),
    clock,
    log: { error() {}, warn() {}, debug() {} },
  });
  t.after(keeper.stopLooking);
  return keeper;
}

test('a reload that comes while guards of the earlier configuration load is in force with guards of its own', async (t) => {
  const [guard, laterGuard] = [stepOf(), stepOf()];
  const loaded = Promise.withResolvers<void>();
  let loads = 0;
  const keeper = await keep(t, async (config) => {
    if (config === later) return [laterGuard];
    loads += 1;
    if (loads > 1) await loaded.promise;
    return [guard];
  });
  const renewed = keeper.useLocals([]);
  const reloaded = keeper.reconfigure(later, 'nobody');
  setImmediate(loaded.resolve);
  await Promise.all([renewed, reloaded]);
  const { config, steps } = keeper.snapshots.current;
  assert.equal(config, later);
  assert.deepEqual(steps?.of(serverPrincipal, null), [laterGuard.step]);
});

test('a reload that fails leaves the earlier configuration to later changes of models', async (t) => {
  const guard = stepOf();
  let fails = true;
  const keeper = await keep(t, async (config) => {
    if (config === later && fails) throw new Error('its hook cannot be read');
    return [guard];
  });
  await assert.rejects(keeper.reconfigure(later, 'nobody'), /its hook/);
  const url = 'http://127.0.0.1:9';
  await keeper.useLocals([{ type: 'searxng', title: 'SearXNG', use: 'search', url, models: [], note: null }]);
  assert.equal(keeper.snapshots.current.config, earlier);
  assert.equal(keeper.snapshots.current.localSearch, url);
  fails = false;
  await keeper.reconfigure(later, 'nobody');
  assert.equal(keeper.snapshots.current.config, later);
});
