import { tooLong } from '../../../formats/media/speech/read-request.ts';
import { isFailure } from '../../../kernel/failure.ts';
import { tooLargeForLoop } from '../../../kernel/parse-object.ts';
import type { Target } from '../../../routing/target.ts';
import type { Endpoint, Plan } from '../../spine/endpoint.ts';
import { plainQuery } from '../../spine/plain-request.ts';
import { readableBody } from '../../spine/readable-input.ts';
import type { SpeechServices } from './services.ts';
import { speechTrial } from './speech-attempt.ts';
import { readSpeech, type SpeechBody } from './speech-body.ts';
import { type SpeechPlan, speechWay } from './speech-way.ts';

interface SpeechCallPlan extends Plan {
  plans: ReadonlyMap<Target, SpeechPlan>;
}

/** Speech: the answer is the sound. */
export function speechEndpoint(services: SpeechServices): Endpoint<Buffer, SpeechBody, SpeechCallPlan> {
  return {
    id: 'speech',
    cost: 'speech',
    read({ principal }, raw) {
      const here = readSpeech(raw);
      return here === tooLargeForLoop ? services.bodies.readInThread(principal.tenant, raw, 'speech') : here;
    },
    readable: (call, raw) => readableBody(services.bodies, call, raw, 'speech', (body) => body),
    content: (raw) => raw,
    keeps: () => 'bytes',
    async plan(snapshot, { principal, preferences, idempotencyKey }, { facts }) {
      const { request } = facts;
      const wrong = tooLong(request, snapshot.config.limits.speech_chars);
      if (wrong !== null) return wrong;
      const way = await speechWay(services, snapshot, request, principal);
      if (isFailure(way)) return way;
      const query = plainQuery(way, facts, preferences, principal.tenant);
      // In one piece where it may be kept for a repeat.
      const streamed = idempotencyKey === null ? 'bytes' : 'whole';
      const form = request.delivery === 'events' ? 'events' : streamed;
      return { alias: way.alias, charged: way.alias, calls: 1, query, form, plans: way.plans };
    },
    trials({ request, plan }, job) {
      const run = {
        request: request.facts.request,
        plans: plan.plans,
        form: plan.form === 'whole' ? ('whole' as const) : ('streamed' as const),
      };
      return { trial: (answer) => speechTrial(services, job, run, answer) };
    },
  };
}
