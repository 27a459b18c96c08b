import { z } from 'zod';
import { duration } from './scalars.ts';

/** Who may log in to the dashboard, and for how long. */
export const dashboardSchema = z
  .strictObject({
    session_idle: duration({ max: '30d' })
      .prefault('12h')
      .describe('A session of the dashboard that sends nothing for so long is over.'),
    session_max: duration({ max: '90d' }).prefault('7d').describe('Every session of the dashboard is over after that.'),
  })
  .describe('Who may log in to the dashboard, and for how long.');
