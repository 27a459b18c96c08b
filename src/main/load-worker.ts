import { answerLoads } from '../main.ts';

await answerLoads();
