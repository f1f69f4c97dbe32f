/**
 * Public types of `@deepseek-ai/dsh-agent-instructions`. The declarations themselves,
 * with what each value means, stand beside the code in `src-js/` and are built to `lib/`.
 */
export * from './lib/index.js'
