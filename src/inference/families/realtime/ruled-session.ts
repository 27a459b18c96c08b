import { sessionThroughRules } from '../../spine/ruled.ts';
import { refuse } from '../../spine/sink.ts';
import type { SessionCall } from './held-session.ts';
import type { RealtimeServices } from './services.ts';

/** A session with the model and the caller that rules for routes give it; null: they refuse it, and it is answered. */
export async function ruledSession<S extends SessionCall>(services: RealtimeServices, asked: S): Promise<S | null> {
  const snapshot = services.snapshot();
  if (snapshot.rules === null) return asked;
  const ruled = await sessionThroughRules(snapshot, services.admission.left, asked.call, asked.model);
  if (!('kind' in ruled)) return { ...asked, ...ruled };
  refuse(asked.call.sink, ruled, asked.call.admitted.headers);
  return null;
}
