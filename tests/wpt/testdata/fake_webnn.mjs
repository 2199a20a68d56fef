// Just enough of webnn-node for the runner's own tests.
export class MLContext {}
export const ml = {createContext: async () => new MLContext()};
