import type { GiveBack } from '../../../books/metering/give-back.ts';
import type { Failure } from '../../../kernel/failure.ts';
import type { Sealer } from '../../../kernel/seal.ts';
import type { RouteAttempt } from '../../../routing/route.ts';
import type { BodyLooks, ObjectReader } from '../../spine/body-reader.ts';
import type { SpineServices } from '../../spine/services.ts';

export interface VideoServices extends SpineServices {
  bodies: ObjectReader & BodyLooks;
  /** Whose each id of a provider is (`chat/provider-objects`). */
  objects: VideoObjects;
  /** Ids of jobs that have none at their provider. */
  videoSealer: Sealer;
  /** Videos that fail later cost nothing. */
  giveBack: GiveBack;
}

export interface VideoObjects {
  ready(): Promise<unknown>;
  give(tenant: string, attempt: Pick<RouteAttempt, 'target' | 'credential'>, ids: readonly string[]): void;
  /** Forgets an id that the tenant has deleted there. Never throws. */
  forget(tenant: string, place: { target: { id: string }; credential: { id: string } }, id: string): void;
  /** Resolves when these ids are written: before their answer goes out. Null: they are. */
  recorded(tenant: string, ids: readonly string[]): Promise<void> | null;
  /** The target and credential that gave this id to a tenant; null: none did. Rejects when the database is away. */
  homeOf(tenant: string, id: string): Promise<{ target: string; credential: string } | null>;
  /** The ids among these that the tenant was given. */
  givenTo(tenant: string, ids: readonly string[]): Promise<ReadonlySet<string>>;
}

/** For an id that the tenant was never given, whether it exists or not. */
export function videoNotFound(id: string): Failure {
  return { kind: 'not-found', param: 'video_id', message: `No video with id '${id.slice(0, 100)}' was found.` };
}
