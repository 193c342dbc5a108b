// Makes node exit when its input ends, so that a killed test leaves no SillyTavern behind. Worker threads load this
// file too, and their input has ended from the start.
if (require('node:worker_threads').isMainThread) {
    process.stdin.resume().on('end', () => process.kill(process.pid, 'SIGTERM'));
}
