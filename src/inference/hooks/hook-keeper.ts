import type { UsageEvent } from '../../books/metering/ledger.ts';
import type { Config, HookConfig } from '../../config/schema.ts';
import { findModule, inodeOf } from '../../hooks/find-module.ts';
import type { HookRunner } from '../../hooks/hook-call.ts';
import type { HookSettled } from '../../hooks/hook-types.ts';
import { ModuleRunner } from '../../hooks/module-runner.ts';
import type { ScopedStep } from '../models/steps.ts';
import type { HookParts, SettledListener } from './hook-parts.ts';
import { type ConfiguredHook, hookStep, letLook } from './hook-step.ts';
import { WebhookRunner } from './webhook-runner.ts';

interface KeyedHook extends ConfiguredHook {
  /** Equal for the same hook. */
  key: string;
}

const heapMbMin = 8;

/** Keeps the runners of hooks from one configuration to the next, where neither settings nor files have changed. */
export function createHookKeeper(parts: HookParts, live: SettledListener) {
  let current: readonly KeyedHook[] = [];
  /** Retired ones too, until they have ended. */
  const runners = new Set<HookRunner>();
  /** The price list and lists of models make a new snapshot of the same configuration. */
  const steps = new WeakMap<Config, Promise<readonly ScopedStep[]>>();

  async function opened(name: string, config: HookConfig): Promise<KeyedHook> {
    const found = findModule(config.module ?? '', parts.folder);
    const key = JSON.stringify([name, config, found, inodeOf(found)]);
    const isUsable = ({ broken, runner }: KeyedHook) => broken === null && runner.isCurrent?.() !== false;
    const known = current.find((one) => one.key === key && isUsable(one));
    if (known !== undefined) return known;
    const runner = runnerOf(name, config, parts);
    runners.add(runner);
    const broken = await runner.load();
    if (broken !== null) parts.log.error({ hook: name, why: broken }, 'a hook cannot be used');
    return { key, name, config, runner, broken, log: parts.log, warned: { atMs: 0 } };
  }

  async function take({ hooks }: Config): Promise<readonly ScopedStep[]> {
    const next = await Promise.all(Object.entries(hooks).map(([name, config]) => opened(name, config)));
    for (const one of current) if (!next.includes(one)) one.runner.retire(() => runners.delete(one.runner));
    current = next;
    const listening = next.filter(({ runner }) => runner.functions?.has('onSettled') === true);
    live.settled =
      listening.length === 0 ? null : (event) => notifySettled(listening, event, parts.planOf(event.account));
    return next.map((hook): ScopedStep => ({ step: hookStep(hook), on: scopeOf(hook.config) }));
  }

  return {
    use(config: Config): Promise<readonly ScopedStep[]> {
      const known = steps.get(config);
      if (known !== undefined) return known;
      const taken = take(config);
      steps.set(config, taken);
      return taken;
    },
    async close(): Promise<void> {
      await Promise.all([...runners].map((runner) => runner.close()));
    },
  };
}

export function runnerOf(name: string, config: HookConfig, parts: HookParts): HookRunner {
  const { type, module = '', settings, env, deadline: deadlineMs, memory, events = [] } = config;
  if (type === 'webhook') {
    const { url = '', secret = '' } = config;
    return new WebhookRunner({ name, url, secret, events, settings, deadlineMs, ...parts });
  }
  const seen = Object.fromEntries(env.flatMap((variable) => entryOf(variable, parts.env[variable])));
  const memoryMb = Math.max(heapMbMin, Math.round(memory / 1024 ** 2));
  const found = findModule(module, parts.folder);
  return new ModuleRunner({
    name,
    found,
    folder: parts.folder,
    settings,
    env: seen,
    deadlineMs,
    memoryMb,
    log: parts.log,
  });
}

const entryOf = (name: string, value: string | undefined): [string, string][] =>
  value === undefined ? [] : [[name, value]];

function scopeOf({ models, plans, accounts }: HookConfig): ScopedStep['on'] {
  if (models === undefined && plans === undefined && accounts === undefined) return 'server';
  return ({ plan, account }, alias) =>
    (models?.includes(alias?.id ?? '') ?? true) &&
    (plans?.includes(plan) ?? true) &&
    (accounts?.includes(account) ?? true);
}

function notifySettled(listening: readonly KeyedHook[], event: UsageEvent, plan: string): void {
  for (const hook of listening) {
    const { models, plans, accounts } = hook.config;
    const isMeant =
      (models?.includes(event.alias) ?? true) &&
      (plans?.includes(plan) ?? true) &&
      (accounts?.includes(event.account) ?? true);
    if (isMeant) void letLook(hook, 'onSettled', settledFacts(event, plan));
  }
}

/** A settled request as hooks see it. */
function settledFacts(event: UsageEvent, plan: string): HookSettled {
  return {
    requestId: event.requestId,
    endpoint: event.endpoint,
    model: event.alias === '' ? null : event.alias,
    caller: { account: event.account, plan, keyId: event.keyId },
    target: event.target,
    status: event.status,
    outcome: event.class,
    stream: event.stream,
    ms: event.ms,
    firstTokenMs: event.firstTokenMs,
    attempts: event.route.attempts.length,
    inputTokens: event.inputTokens,
    outputTokens: event.outputTokens,
    costUsd: event.costUsd,
    user: event.user,
    tag: event.tag,
  };
}
