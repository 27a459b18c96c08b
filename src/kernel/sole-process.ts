let isSole = false;

/** This process is Culvert's alone. So it may change V8's settings, which hold for everything in the process. */
export function claimProcess(): void {
  isSole = true;
}

/** Whether `claimProcess` was called: not in an application that has the gateway as a library. */
export function isSoleProcess(): boolean {
  return isSole;
}
