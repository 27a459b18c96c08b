import type { JsonObject } from '../../../kernel/json.ts';

/**
 * The format of `generateContent` as Google publishes it (Gemini API reference, v1beta; types of @google/genai 3.1), as
 * far as we write it. Bodies that we read are never trusted to have these shapes. The path has the model.
 */
export type GenerateContentBody = {
  contents: Content[];
  systemInstruction?: { parts: Part[] };
  tools?: { functionDeclarations: FunctionDeclaration[] }[];
  toolConfig?: { functionCallingConfig: FunctionCallingConfig };
  generationConfig?: GenerationConfig;
};

/** A `user` turn contains the results of tools. */
export type Content = { role: 'user' | 'model'; parts: Part[] };

export type Blob = { mimeType: string; data: string };

/** One of the members decides its kind; `thought` and `thoughtSignature` come with it. */
export type Part = {
  text?: string;
  thought?: true;
  thoughtSignature?: string;
  inlineData?: Blob;
  fileData?: { fileUri: string; mimeType?: string };
  functionCall?: { id?: string; name: string; args: JsonObject };
  functionResponse?: FunctionResponse;
};

/** `response` has `output`, or `error` when the tool failed. */
export type FunctionResponse = { id?: string; name: string; response: JsonObject; parts?: { inlineData: Blob }[] };

export type FunctionDeclaration = { name: string; description?: string; parametersJsonSchema?: JsonObject };

export type FunctionCallingConfig = { mode: 'AUTO' | 'ANY' | 'NONE'; allowedFunctionNames?: string[] };

export type ThinkingLevel = 'MINIMAL' | 'LOW' | 'MEDIUM' | 'HIGH';

export type ThinkingConfig =
  | { includeThoughts: boolean; thinkingLevel: ThinkingLevel }
  | { includeThoughts: boolean; thinkingBudget: number };

export type GenerationConfig = {
  temperature?: number;
  topP?: number;
  topK?: number;
  maxOutputTokens?: number;
  stopSequences?: string[];
  seed?: number;
  presencePenalty?: number;
  frequencyPenalty?: number;
  responseMimeType?: 'application/json';
  responseJsonSchema?: JsonObject;
  thinkingConfig?: ThinkingConfig;
};

/** Names this dialect as the vendor of signatures, vendor blocks and extensions. */
export const vendor = 'gemini';

/**
 * Value where a signature is demanded and none came: the caller's client dropped it, or another vendor's model made the
 * call. Google's documentation of thought signatures names it for exactly that.
 */
export const noSignature = 'skip_thought_signature_validator';
