import type { LaunchOptions } from 'playwright-core';

/** What Chromium is started with, beside what playwright-core gives. Everything that could reach the network by itself, or
 * around the proxy, is off; the resolver knows no name, so that what tried could not even ask for an address. */
const flags = [
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
  '--disable-quic',
  '--dns-prefetch-disable',
  '--no-pings',
  '--disable-domain-reliability',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--deny-permission-prompts',
  '--disable-notifications',
  '--disable-speech-api',
  '--disable-print-preview',
  '--disable-gpu',
  // Of the scripts of one page, in MB: their renderer ends with them.
  '--js-flags=--max-old-space-size=512',
];

const startTimeoutMs = 30_000;

/** `home`: an empty folder of ours. */
export function startOptions(executablePath: string, proxyUrl: string, home: string): LaunchOptions {
  return {
    executablePath,
    headless: true,
    // Its sandbox cannot be had as root.
    chromiumSandbox: !runsAsRoot(),
    // Also for what belongs to no page: without a password it gets nowhere. Loopback is never gone to directly.
    proxy: { server: proxyUrl },
    args: flags,
    // Popups are Chromium's to block where no one has clicked, and nobody clicks here.
    ignoreDefaultArgs: ['--disable-popup-blocking'],
    // What pages run beside needs none of our secrets.
    env: { PATH: process.env.PATH ?? '', HOME: home, TMPDIR: home, LANG: 'C.UTF-8' },
    timeout: startTimeoutMs,
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
  };
}

export function runsAsRoot(): boolean {
  return process.getuid?.() === 0;
}
