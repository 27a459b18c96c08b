import { isFailure } from '../../../kernel/failure.ts';
import { modelThroughRules } from '../../spine/ruled.ts';
import { refuse } from '../../spine/sink.ts';
import type { SessionCall } from './held-session.ts';
import type { RealtimeServices } from './services.ts';

/** A session with the model and the caller that rules for routes give it; null: they refuse it, and it is answered. */
export async function ruledSession<S extends SessionCall>(services: RealtimeServices, session: S): Promise<S | null> {
  const snapshot = services.snapshots.current;
  if (snapshot.rules === null) return session;
  // A session begins without a text.
  const sources = { left: services.admission.left, inner: null };
  const facts = { endpoint: 'realtime', model: session.model, stream: true };
  const ruled = await modelThroughRules(snapshot, sources, session.call, facts);
  if (!isFailure(ruled)) return { ...session, ...ruled };
  refuse(session.call.sink, ruled, session.call.admitted.headers);
  return null;
}
