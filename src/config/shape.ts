import { z } from 'zod';
import type { ConfigPath } from './problem.ts';

/** What the schema says about places, for suggestions and the reference. */

/** The schema without optional, default and transformation around it; a pipe gives the side that people write. */
function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) {
    return unwrap(schema.unwrap());
  }
  return schema instanceof z.ZodPipe ? unwrap(schema.in) : schema;
}

/** The keys that may stand in the object at `path`. */
export function knownKeys(schema: z.core.$ZodType, path: ConfigPath): string[] {
  return schemasAt(schema, path).flatMap((at) => (at instanceof z.ZodObject ? Object.keys(at.shape) : []));
}

/** Several when a union leads there. */
function schemasAt(schema: z.core.$ZodType, path: ConfigPath): z.core.$ZodType[] {
  const at = unwrap(schema);
  if (at instanceof z.ZodUnion) return at.options.flatMap((option) => schemasAt(option, path));
  const [step, ...rest] = path;
  if (step === undefined) return [at];
  if (at instanceof z.ZodObject) {
    const child = at.shape[String(step)];
    return child === undefined ? [] : schemasAt(child, rest);
  }
  if (at instanceof z.ZodRecord) return schemasAt(at.valueType, rest);
  if (at instanceof z.ZodArray) return schemasAt(at.element, rest);
  return [];
}
