import { startGateway, type TestGateway } from '../start-gateway.ts';
import { type Player, startPlayer } from './player.ts';
import type { Service } from './services.ts';

/** A gateway before a player, with a provider for each service. */
export interface World {
  player: Player;
  gateway: TestGateway;
  /** The name by which callers ask a service for a model. */
  modelOf(service: Service, model: string): string;
  /** Forgets what the gateway holds against the providers: an answer that is an error closes them out for seconds. */
  forget(): Promise<void>;
}

/** `onEnd` closes it. */
export async function startWorld(
  services: readonly Service[],
  onEnd: (end: () => Promise<void>) => void,
): Promise<World> {
  const player = await startPlayer();
  onEnd(() => player.close());
  const byKey = new Map(services.map((service) => [keyOf(service), service]));
  let generation = 0;
  const config = () => ({
    server: { body_limit: '100mb' },
    providers: Object.fromEntries(
      [...byKey].map(([key, { type, dialect }]) => [
        `${key}-${generation}`,
        {
          type,
          base_url: `${player.url}/${key}${type === 'gemini' ? '/v1beta' : '/v1'}`,
          api_key: 'upstream-secret',
          dialects: [dialect],
          shared_objects: ['*'],
          ...(type === 'azure-openai' && { api_version: '2024-10-21' }),
        },
      ]),
    ),
    models: Object.fromEntries(
      [...byKey.keys()].map((key) => [`${key}--*`, { targets: [`${key}-${generation}/*`], attempts: 1 }]),
    ),
  });
  const gateway = await startGateway({ after: (end) => onEnd(end as () => Promise<void>) }, config());
  return {
    player,
    gateway,
    modelOf: (service, model) => `${keyOf(service)}--${model}`,
    async forget() {
      generation++;
      await gateway.reload(config());
    },
  };
}

function keyOf({ name, dialect }: Service): string {
  return `${name.replace(/[^A-Za-z0-9]+/g, '-')}-${dialect}`.toLowerCase();
}
