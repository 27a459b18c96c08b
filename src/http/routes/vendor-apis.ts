import type { Services } from '../../inference/endpoints/services.ts';
import type { Route } from '../exchange.ts';
import { bedrockRoutes } from './bedrock.ts';
import { cohereRoutes } from './cohere.ts';
import { geminiRoutes } from './gemini.ts';
import { ollamaRoutes } from './ollama.ts';

/** APIs of other vendors than OpenAI and Anthropic, at the paths that their SDKs ask. */
export function vendorApiRoutes(services: Services): Route[] {
  return [...geminiRoutes(services), ...ollamaRoutes(services), ...cohereRoutes(services), ...bedrockRoutes(services)];
}
