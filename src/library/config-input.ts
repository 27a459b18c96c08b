import type { z } from 'zod';
import type { configSchema } from '../config/schema.ts';

/** A configuration as `culvert.yaml` holds it. The package ships a file of this name made of its JSON Schema. */
export type CulvertConfig = z.input<typeof configSchema>;
