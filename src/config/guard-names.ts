import { z } from 'zod';
import { name } from './scalars.ts';

/** The guards that a model, a plan, an account, a key or the server has. */
export const guardNames = () => z.array(name("a guard's name")).max(50).optional();
