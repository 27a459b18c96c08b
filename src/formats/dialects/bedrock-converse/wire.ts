import type { JsonObject } from '../../../kernel/json.ts';

/**
 * Format of Bedrock's Converse and ConverseStream (models of @aws-sdk/client-bedrock-runtime 3.1163), as far as we
 * write it. Bytes are base64. The path names the model, and says whether to stream.
 */
export type ConverseBody = {
  messages: Turn[];
  system?: SystemBlock[];
  inferenceConfig?: InferenceConfig;
  toolConfig?: ToolConfig;
  additionalModelRequestFields?: JsonObject;
  outputConfig?: JsonObject;
};

export type Turn = { role: 'user' | 'assistant'; content: Block[] };

export type CachePoint = { cachePoint: { type: 'default'; ttl?: string } };

export type SystemBlock = { text: string } | CachePoint;

/** One member says what it is. */
export type Block = JsonObject;

export const blockKinds = {
  isResult: ({ toolResult }: Block) => toolResult !== undefined,
  isThought: ({ reasoningContent }: Block) => reasoningContent !== undefined,
};

export type InferenceConfig = { maxTokens?: number; temperature?: number; topP?: number; stopSequences?: string[] };

export type ToolSpec = { name: string; description?: string; inputSchema: { json: JsonObject }; strict?: true };

export type ToolConfig = { tools: ({ toolSpec: ToolSpec } | CachePoint)[]; toolChoice?: JsonObject };

/** Names this dialect as the vendor of signatures and extensions. */
export const vendor = 'bedrock-converse';
