import { createCallers } from './callers.ts';
import type { Exchange } from './exchange.ts';
import type { SharedDialectId } from './formats.ts';
import { readRecorded } from './read-answer.ts';
import { readFolder, type Unreadable } from './read-folder.ts';
import { type Replayed, replayAnswer, replayError } from './replay-answer.ts';
import { type Sent, sendRequest } from './send-request.ts';
import { type Service, serviceOf } from './services.ts';
import { startWorld } from './world.ts';

/** An error of a service, as callers of a format heard it. */
export interface ErrorHeard {
  from: string;
  service: string;
  caller: SharedDialectId;
  said: string;
  heard: string;
  told: boolean;
}

/** Results of a folder. */
export interface Conformance {
  answers: Replayed[];
  requests: Sent[];
  errors: ErrorHeard[];
  unreadable: Unreadable[];
  /** Exchanges that are not a conversation in a format that Culvert asks, by address. */
  elsewhere: Record<string, number>;
  /** Recorded answers of such conversations that are cut, empty or no answer. */
  unfinished: string[];
}

export interface ConformanceOptions {
  folder: string;
  /** Exchanges whose file or service does not match are left out. */
  only?: RegExp;
  /** Told how many exchanges have been played. */
  onProgress?: (done: number) => void;
}

/** Plays every exchange of a folder, and resolves once all have been compared. */
export async function conform({ folder, only, onProgress }: ConformanceOptions): Promise<Conformance> {
  const result: Conformance = {
    answers: [],
    requests: [],
    errors: [],
    unreadable: [],
    elsewhere: {},
    unfinished: [],
  };
  const ends: (() => Promise<void>)[] = [];
  try {
    const services = servicesOf(folder, only);
    const world = await startWorld([...services.values()], (end) => void ends.unshift(end));
    const callers = createCallers(world.gateway.url, world.gateway.key);
    const directly = createCallers(world.player.url, 'any');
    let done = 0;
    for (const exchange of readFolder(folder, (one) => void result.unreadable.push(one))) {
      const service = serviceOf(exchange);
      if (service === null) {
        const address = exchange.url.replace(/[?#].*$/s, '').slice(0, 120);
        result.elsewhere[address] = (result.elsewhere[address] ?? 0) + 1;
        continue;
      }
      if (!isWanted(exchange, service, only)) continue;
      const said = readRecorded(exchange, service.dialect);
      const model = modelAsked(exchange);
      if (said === null) result.unfinished.push(exchange.from);
      else if ('error' in said) {
        const heard = await replayError(world, callers, { exchange, service, model, said });
        const { from } = exchange;
        result.errors.push(...heard.map((one) => ({ from, service: service.name, said: said.error, ...one })));
      } else {
        result.answers.push(...(await replayAnswer(world, callers, directly, { exchange, service, model, said })));
        if (exchange.request !== null) result.requests.push(await sendRequest(world, { exchange, service, model }));
      }
      onProgress?.(++done);
    }
  } finally {
    for (const end of ends) await end();
  }
  return result;
}

/** A first reading: the gateway is configured with every service before the first answer is played. */
function servicesOf(folder: string, only: RegExp | undefined): Map<string, Service> {
  const services = new Map<string, Service>();
  for (const exchange of readFolder(folder, () => {})) {
    const service = serviceOf(exchange);
    if (service !== null && isWanted(exchange, service, only))
      services.set(`${service.name} ${service.dialect}`, service);
  }
  return services;
}

function isWanted({ from }: Exchange, { name }: Service, only: RegExp | undefined): boolean {
  return only === undefined || only.test(from) || only.test(name);
}

/** Models have rules of their own: the original one is asked again. */
function modelAsked({ request, url, answer }: Exchange): string {
  if (typeof request?.model === 'string') return request.model;
  const path = /\/(?:models|deployments)\/([^/:?]+)/.exec(url)?.[1];
  if (path !== undefined && path !== 'chat' && path !== 'gemini') return decodeURIComponent(path);
  return /"(?:model|modelVersion)"\s*:\s*"([^"\s*]+)"/.exec(answer)?.[1] ?? 'a-model';
}
