// All of the client: what an embedder includes.
#ifndef WEBNND_CLIENT_WEBNN_H_
#define WEBNND_CLIENT_WEBNN_H_

#include "client/binding.h"
#include "client/context.h"
#include "client/exceptions.h"
#include "client/future.h"
#include "client/graph.h"
#include "client/graph_builder.h"
#include "client/ml.h"
#include "client/operand.h"
#include "client/tensor.h"

#endif  // WEBNND_CLIENT_WEBNN_H_
