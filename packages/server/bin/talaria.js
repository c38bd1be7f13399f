#!/usr/bin/env node
// The door to the command. Plain JavaScript without static imports, in syntax that Node 12 understands, because its
// first duty is to say one clear sentence where Node is too old for everything behind it.
const found = process.versions.node;

if (Number(found.split('.')[0]) < 24) {
  process.stderr.write(
    `Talaria needs Node 24 or newer, but this is Node ${found}: start it with "npm start" or "npx talaria" in the project, which bring Node 24 along, or install Node 24.\n`,
  );
  process.exitCode = 1;
} else {
  run();
}

async function run() {
  try {
    const nodeModule = await import('node:module');
    // Keeps the compiled modules for the next start, which then takes less than half the time.
    if (nodeModule.enableCompileCache) nodeModule.enableCompileCache();
    const { main } = await import('#command');
    process.exitCode = await main(process.argv.slice(2));
    // Lets output drain; something that was left open cannot keep a finished command alive.
    setTimeout(() => process.exit(), 1000).unref();
  } catch (error) {
    console.error(error);
    process.exit(1);
  }
}
