#!/usr/bin/env node
// Runs the program of the package for this system, with the same arguments, input, output and exit code.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const system = `${process.platform}-${process.arch}`;
const name = `@mcp-workbench/${system}`;

let program;
try {
  program = require.resolve(`${name}/mcp-workbench`);
} catch {
  console.error(
    `error: mcp-workbench has no program for ${system}, or the optional package ${name} is not installed.\n` +
      "help: install without --omit=optional, or build from source: cargo install mcp-workbench",
  );
  process.exit(3);
}

// Signals of a terminal reach the child as well; others are passed on.
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => signal === "SIGINT" && process.stdin.isTTY || child.kill(signal));
}
child.on("error", (error) => {
  console.error(`error: cannot start ${program}: ${error.message}`);
  process.exit(3);
});
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
