import type { JsonObject } from '../../kernel/json.ts';
import type { ImportNote } from './notes.ts';
import type { Variables } from './plain-values.ts';

/** Result of an import of the configuration of another gateway. */
export interface Imported {
  /** In the form of culvert.yaml; texts may refer to `variables`. */
  config: ImportedConfig;
  /** Environment variables that it needs, and what for. */
  variables: Variables;
  notes: readonly ImportNote[];
}

export interface ImportedConfig {
  admin?: JsonObject;
  providers: Record<string, JsonObject>;
  models: Record<string, JsonObject>;
  server?: JsonObject;
  guards?: Record<string, JsonObject>;
  prompts?: Record<string, JsonObject>;
  mcp?: { servers: Record<string, JsonObject> };
  plans?: Record<string, JsonObject>;
  default_plan?: string;
  accounts?: Record<string, JsonObject>;
  keys?: JsonObject[];
}

export type ImportResult = { ok: true; imported: Imported } | { ok: false; message: string };
