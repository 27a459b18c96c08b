import type { Services } from '../../inference/endpoints/services.ts';
import { createClientAddress } from '../client-address.ts';
import type { Route } from '../exchange.ts';
import { createSignedCallers, type SignedCallersParts } from '../signed-caller.ts';
import { aiGatewayRoutes } from './ai-sdk/ai-gateway.ts';
import { type AwsCredentialsParts, awsCredentialsRoute } from './aws-credentials.ts';
import { modelInfoRoute } from './azure.ts';
import { bedrockRoutes } from './bedrock.ts';
import { cohereRoutes } from './cohere.ts';
import { geminiRoutes } from './gemini.ts';
import type { GoogleBatchesParts } from './google/batches.ts';
import { cachedContentsRoutes } from './google/cached-contents.ts';
import { ollamaRoutes } from './ollama.ts';
import { vertexRoutes } from './vertex.ts';

/** Parts for callers that sign their requests. */
export type SigningParts = Omit<SignedCallersParts & AwsCredentialsParts, 'clock' | 'server' | 'addressOf'>;

/** APIs of other vendors than OpenAI and Anthropic, at the paths that their SDKs ask. */
export function vendorApiRoutes(
  services: Services,
  signing: SigningParts,
  batches: Omit<GoogleBatchesParts, 'services'>,
): Route[] {
  const server = () => services.snapshots.current.config.server;
  const addressOf = createClientAddress(() => server().trusted_proxies);
  const signed = createSignedCallers({ ...signing, clock: services.clock, server });
  return [
    ...geminiRoutes({ services, ...batches }),
    ...cachedContentsRoutes({ services, ...batches }),
    ...vertexRoutes(services),
    ...ollamaRoutes(services),
    ...aiGatewayRoutes(services),
    modelInfoRoute(services),
    ...cohereRoutes(services),
    ...bedrockRoutes(services, signed),
    awsCredentialsRoute({ ...signing, clock: services.clock, addressOf }),
  ];
}
