/** Frames above number `after` of a response, the first ones of those that are there; none: it does not run here. */
export type FramesOfRun = (tenant: string, id: string, after: number) => Promise<readonly string[]>;
/** Offers the runs of this process to the other ones of its server, and returns how to ask them. */
export type ShareRuns = (frames: FramesOfRun) => FramesOfRun;
